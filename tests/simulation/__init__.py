"""Runs the scheduler's real code in a simulated world: on virtual time, with faults from a seed."""
