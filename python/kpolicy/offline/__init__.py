"""Everything that works on recorded clusters: it uses the same engine and program as the scheduler
(B8), and no API server.
"""
