"""Text is in quotes where YAML would read another value without them."""

from __future__ import annotations

import pytest
import yaml

from kpolicy.policy.format.yaml_text import emitted, flow


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ("n1", "n1"),
        ("kube-system/web", "kube-system/web"),
        ("yes", '"yes"'),
        ("", '""'),
        ("a: b", '"a: b"'),
        ("1", '"1"'),
        ("true", '"true"'),
        ("ünï", '"ünï"'),
        ("x.", "x."),
        (5, "5"),
        (1.5, "1.5"),
        ([], "[]"),
        (["a", "b c", "d, e"], '[a, b c, "d, e"]'),
        ({"a": ["b"]}, "{a: [b]}"),
    ],
)
def test_values_are_quoted_where_they_must(value: object, written: str) -> None:
    assert flow(value) == written


def test_what_is_empty_stays_in_its_list() -> None:
    """A term of a node selector may be empty: it selects nothing."""
    written = emitted({"terms": [{}, {"a": {}, "b": []}, []]}, {})
    assert yaml.safe_load(written) == {"terms": [{}, {"a": {}, "b": []}, []]}
