"""Writes policies: layout, conversion, fixes. Each result is compiled and compared."""
