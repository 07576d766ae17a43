"""A simulated week of arrivals under a policy of the queue: what each tenant has, against what is fair."""
