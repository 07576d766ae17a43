"""The release of kpolicy, and the version of the JSON that it prints."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final  # the first module of all that load does without `typing`

VERSION: Final = "0.1.0"
# Of JSON documents. Changes when a field is removed or gets another meaning. New fields may come
# at any time.
DOCUMENT_VERSION: Final = 1
