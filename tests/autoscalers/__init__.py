"""Whether autoscalers make nodes for the right pods: random scenarios, a naive model of what each
pod waits for, and the filter by which an autoscaler takes up pods.
"""
