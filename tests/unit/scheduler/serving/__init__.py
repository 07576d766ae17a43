"""Tests of the endpoints."""
