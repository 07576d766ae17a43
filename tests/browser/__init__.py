"""Pages in a real browser: Debian's Chromium opens each, clicks, presses keys and complains."""
