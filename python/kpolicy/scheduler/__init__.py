"""The live scheduler: what happens between a watch event and a bound pod.

The engine decides about nodes; policies are compiled elsewhere.
"""
