"""What is written into a page stays what it was, and ends no element of it."""

from __future__ import annotations

import html
import json
from html.parser import HTMLParser

from hypothesis import given, strategies as st

from kpolicy.offline.pages.page_data import (
    content_security_policy,
    digest,
    library,
    script,
    script_json,
    style,
    text,
)
from kpolicy.offline.pages.page_frame import Figure, Page, Section

ANY = st.text(st.characters(codec=None) | st.sampled_from("<>&'\"/!-\u2028\u2029\ud800\udc00"))


@given(ANY)
def test_json_in_a_script_is_read_as_it_was_and_cannot_end_the_script(written: str) -> None:
    inside = script_json({"name": written})
    assert json.loads(inside) == {"name": written}
    assert not set("<>&\u2028\u2029") & set(inside)
    assert inside.isascii()


@given(ANY)
def test_text_has_no_markup_and_can_be_written_as_utf_8(written: str) -> None:
    inside = text(written)
    assert not set("<>\"'") & set(inside)
    whole = written.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    assert html.unescape(inside.encode().decode()) == html.unescape(text(whole))


class _Elements(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.of_scripts: list[str] = []
        self._is_inside = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))
        self._is_inside = tag in ("script", "style")
        if self._is_inside:
            self.of_scripts.append("")

    def handle_endtag(self, tag: str) -> None:
        self._is_inside = False

    def handle_data(self, data: str) -> None:
        if self._is_inside:
            self.of_scripts[-1] += data


def test_the_page_s_policy_names_its_scripts_and_its_style_and_nothing_else() -> None:
    elements = _Elements()
    elements.feed(Page("Title", [Section("One", ["text"])], [Figure("a", "b")]).html())
    (policy,) = (
        attributes["content"]
        for tag, attributes in elements.found
        if attributes.get("http-equiv") == "Content-Security-Policy"
    )
    assert policy == content_security_policy()
    look, data, *scripts = elements.of_scripts
    assert scripts == [library(), script()]
    assert look == style()
    assert json.loads(data) == {"charts": {}, "tables": {}}
    for each in (look, *scripts):
        assert f"'{digest(each)}'" in policy
    assert policy.startswith("default-src 'none'; ")
    assert "unsafe" not in policy


def test_a_page_names_no_other_host() -> None:
    page = Page("Title", [Section("One", ["text"])]).html().replace(library(), "")
    assert "://" not in page
