"""Reading in steps gives what `json.loads` gives, or fails as it does."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, strategies as st

from kpolicy.scheduler.serving.debug_pages import loads_in_steps

VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=40,
)


@given(VALUES, st.sampled_from([None, 1]))
def test_it_is_the_same_document(value: Any, indent: int | None) -> None:
    assert loads_in_steps(json.dumps(value, indent=indent)) == value


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[",
        "[1",
        "[1 2]",
        '{"a"}',
        '{"a":}',
        '{"a":1',
        '{"a" 1}',
        "{1:2}",
        "[]]",
        "1 2",
        "]",
    ],
)
def test_what_is_no_document_is_an_error(text: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011  as of json.loads
        json.loads(text)
    with pytest.raises((ValueError, TypeError)):
        loads_in_steps(text)
