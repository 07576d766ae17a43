"""YAML text as trees of nodes, each with its span, and the way from spans to lines of a file."""
