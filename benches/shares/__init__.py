"""A simulated week of arrivals: what each tenant has, against what is fair."""
