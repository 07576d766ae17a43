"""Tests of policy sources and reports."""
