"""The file format `.kpsnap` of recorded snapshots (docs/internals/snapshot-file.md).

The same content gives the same bytes. A reader checks the whole file before it uses any of it.
"""
