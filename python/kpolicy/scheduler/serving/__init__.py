"""What the process serves about itself: health, metrics and the debug pages."""
