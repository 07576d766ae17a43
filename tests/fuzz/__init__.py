"""Hostile inputs for what reads what people write: `python -m tests.fuzz policy --seconds 60`."""
