"""The scheduling loop: the queue, the cycle that decides batches, and the engine's thread."""
