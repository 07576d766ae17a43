"""What must hold of every run of the scheduler, simulated or real: I1 to I13, a module each."""
