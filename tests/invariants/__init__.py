"""The invariants I1 to I14, which hold for every run of the scheduler, simulated or real. Each has
its own module.
"""
