"""Making room for a pod: the nomination is written, and victims are evicted."""
