"""`plan`: what a new policy changes, over snapshots and journals, in figures that a reviewer can
hold thresholds against.
"""
