"""Tests of the shadow policy."""
