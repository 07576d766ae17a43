"""The recorder: a live cluster into a recorded snapshot.

Owns what is listed, at which version, and what happens where the API refuses. Only reads; never
asks for Secrets or ConfigMaps. Must not decide, nor know the engine.
"""
