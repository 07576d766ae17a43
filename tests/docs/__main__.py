"""`python -m tests.docs`: write into every page what its commands print now."""

from __future__ import annotations

from tests.docs.pages import pages, rewritten

for page in pages():
    page.write_text(rewritten(page), "utf-8")
    print(page.name)
