"""Tests of replays of journals."""
