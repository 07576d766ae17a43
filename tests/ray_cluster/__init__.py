"""A real local Ray cluster of two nodes on which a sweep runs (`make ray`)."""
