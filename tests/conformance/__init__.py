"""The engine against answers recorded from the real schedulers."""
