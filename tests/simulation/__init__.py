"""The scheduler in a simulated world: the real code, on virtual time, under seeded trouble."""
