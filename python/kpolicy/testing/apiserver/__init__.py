"""The HTTP side of the embedded control plane: from a request to the answer of the API."""
