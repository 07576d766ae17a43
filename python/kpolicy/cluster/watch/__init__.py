"""List and watch: keeps a sink up to date with each resource of the API server."""
