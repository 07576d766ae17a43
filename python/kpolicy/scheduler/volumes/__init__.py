"""What must happen to a pod's volumes before it is bound."""
