"""The recorder: lists a live cluster into a recorded snapshot.

It only reads, and never asks for Secrets or ConfigMaps.
"""
