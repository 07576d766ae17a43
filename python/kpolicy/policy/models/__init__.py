"""The fields that documents may have: pydantic models, their validation, built-ins by name."""
