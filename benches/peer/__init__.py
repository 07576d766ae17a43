"""Compares kpolicy with kube-scheduler's own scheduling cycle, on the same file and machine, in one
run. `kubescheduler/` is the Go program that runs kube-scheduler's cycle.
"""
