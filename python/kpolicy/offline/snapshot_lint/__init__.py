"""Lint against a recorded cluster: findings that the policy's text alone cannot give."""
