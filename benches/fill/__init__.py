"""How much of a cluster's GPUs six policies allocate: the comparison of the paper on fragmentation
gradient descent (Weng et al., USENIX ATC 2023), by its recipe."""
