"""What the engine answers about a snapshot: explain, simulate, diff and evaluate.

The engine decides; these modules choose what to ask and turn the answers into values.
"""
