"""The journal of an engine: its calls and its decisions with their times, in segments of bounded
size (docs/internals/journal.md).

An engine is a function of its calls, which carry time and chance as arguments. So the same calls,
made again in a new engine, give the same decisions.
"""
