"""Every bound of `recorder/`, named, with the reason for its size (B10).

Owns numbers only. Must not know who obeys them.
"""

from __future__ import annotations

from typing import Final

# Lists of one kind begun again, because a continue token outlived the history or a page was too
# large: each time pages are resized, so that more than this has another reason.
LIST_TRIES_MAX: Final = 12
# Pages grow by this when a token was outlived, as the informers' do.
PAGE_GROWTH: Final = 4
# A page is asked for again after this, or after what the server asks for.
RETRY_S: Final = 1.0
# Refused kinds named in one line.
KINDS_NAMED_MAX: Final = 20
