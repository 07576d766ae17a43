"""Tests of binds and reservations."""
