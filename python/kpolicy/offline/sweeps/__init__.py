"""Experiments of many cells: one function, called for each cell, on all processors of a machine or
on a Ray cluster.
"""
