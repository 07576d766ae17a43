"""Where policies come from, and where kpolicy reports what became of them."""
