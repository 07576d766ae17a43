"""The codec, seen through the engine."""
