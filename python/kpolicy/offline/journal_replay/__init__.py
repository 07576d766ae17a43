"""Makes the calls of a journal again: with the policy that decided, or to see what another policy
would have decided.
"""
