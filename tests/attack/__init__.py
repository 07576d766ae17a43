"""Deliberate attacks on a running scheduler, each of which prints figures and says what held."""
