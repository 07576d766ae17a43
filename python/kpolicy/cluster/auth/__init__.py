"""Which API server to use and as which user: kubeconfig, service account, exec plugins, TLS."""
