"""Measures a take-over, a change of the policy and a shutdown, which must be over in seconds."""
