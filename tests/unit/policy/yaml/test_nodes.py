"""Walking trees and leaving parts out."""

from __future__ import annotations

from kpolicy.policy.yaml.nodes import Node, dotted, find, key_at, made, plain, scalars, without
from kpolicy.policy.yaml.source import Source
from kpolicy.policy.yaml.tree_reader import read_documents


def tree(text: str) -> Node:
    read = read_documents(Source("f", text))
    assert read.diagnostics == ()
    return read.roots[0]


def test_paths_lead_to_values_and_keys() -> None:
    root = tree("a:\n  - b: 1\n  - c\n")
    assert plain(found) == 1 if (found := find(root, ("a", 0, "b"))) else False
    key = key_at(root, ("a", 0, "b"))
    assert key is not None
    assert key.text == "b"
    assert find(root, ("a", 5)) is None
    assert find(root, ("a", "b")) is None
    assert key_at(root, ("a", 0)) is None


def test_leaving_out_keeps_the_rest_and_its_spans() -> None:
    root = tree("a: [1, 2, 3]\nb: {c: 4, d: 5}\n")
    assert plain(without(root, ("a", 1))) == {"a": [1, 3], "b": {"c": 4, "d": 5}}
    assert plain(without(root, ("b", "c"))) == {"a": [1, 2, 3], "b": {"d": 5}}
    assert without(root, ("x", "y")) == root
    kept = find(without(root, ("a", 1)), ("a", 1))
    assert kept == find(root, ("a", 2))


def test_paths_are_written_as_users_write_them() -> None:
    assert dotted(("spec", "predicates", 2, "expression")) == "spec.predicates[2].expression"


def test_values_come_in_the_order_of_the_file() -> None:
    assert [node.text for node in scalars(tree("a: 1\nb: [2, {c: 3}]\nd: 4\n"))] == list("1234")


def test_made_trees_read_back_as_their_data() -> None:
    data = {"a": [1, True, None, "x"], "b": {"c": 1.5}}
    span = tree("a: 1").span
    assert plain(made(data, span)) == data  # type: ignore[arg-type]  # invariance of nested lists
