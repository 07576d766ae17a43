"""Simulated days: what a policy does to a cluster over time. The real queue and the real engine run
in virtual time; arrivals, departures and node changes come from a scenario or a journal.
"""
