"""The API server's side of the shell: connection, list and watch, bind, events, conditions, lease.

Every request to the API server is made here. Bytes of lists and watches go to a `Sink`; what to
write comes in as plain values. Nothing is imported here, so that a verb that needs the lease alone
pays for the lease alone.
"""
