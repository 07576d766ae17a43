"""kpolicy beside kube-scheduler: the same file, the same machine, one after the other in one run.

Owns the Go program that runs kube-scheduler's own cycle (`kubescheduler/`), the check that both are
asked the same question, and the comparison. Must not be needed at run time.
"""
