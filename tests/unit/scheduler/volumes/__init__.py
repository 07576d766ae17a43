"""Tests of what precedes a bind."""
