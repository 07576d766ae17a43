"""Binds of placed pods, and the end of each reservation."""
