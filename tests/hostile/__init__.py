"""Random policies that the compiler accepts and that cost as much as they can."""
