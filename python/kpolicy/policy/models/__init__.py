"""The fields that documents may have: pydantic models, their validation, built-ins by name.

pydantic is loaded here, before any of the models, so that it takes less time.
"""

from kpolicy.quick_imports import imported_quickly

with imported_quickly():
    import pydantic.main
    import pydantic.types  # noqa: F401
