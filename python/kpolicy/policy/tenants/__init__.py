"""Policies of tenants: rules for the tenants' pods, added to the operator's policy."""
