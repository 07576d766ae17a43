"""Tests of running tests of policies."""
