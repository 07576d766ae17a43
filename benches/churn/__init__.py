"""Runs one scheduler under the same load again and again, and measures whether its memory grows."""
