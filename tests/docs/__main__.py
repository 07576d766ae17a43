"""`python -m tests.docs`: write into every page what its commands print now, and the pages of the
reference."""

from __future__ import annotations

from tests.docs.pages import pages, rewritten
from tests.docs.reference import reference_pages

for page in pages():
    page.write_text(rewritten(page), "utf-8")
    print(page.name)
for page, text in reference_pages().items():
    page.write_text(text, "utf-8")
    print(page.name)
