"""Pages that show commands with their output."""
