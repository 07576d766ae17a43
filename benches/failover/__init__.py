"""What must be over within seconds: a take-over, a change of the policy, the way out."""
