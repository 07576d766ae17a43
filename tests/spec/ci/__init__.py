"""What users' CI runs, run here against an API that this machine serves."""
