"""What `offline/` found out, as text for people.

Owns layouts only. Assumes values that are complete. Must not compute what a library caller would
miss, nor print.
"""
