"""Tests of the reports for people."""
