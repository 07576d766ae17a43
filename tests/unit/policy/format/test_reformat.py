"""`reformat`: the usual layout, stable when repeated, with every comment and the same meaning."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any

import pytest

from kpolicy import Source, compile_policy, reformat
from kpolicy.policy.document_kinds import carried
from kpolicy.policy.format.conversion import convert_policy
from kpolicy.policy.format.reformat import comments_of
from kpolicy.policy.yaml.nodes import Node, plain
from kpolicy.policy.yaml.tree_reader import read_documents
from tests.tree.sources import ROOT, with_suffix

HERE = Path(__file__).parent


def policies() -> list[str]:
    """Every policy in the tree that can be read."""
    texts = [path.read_text("utf-8") for path in with_suffix(".yaml")]
    ours = [text for text in texts if "apiVersion: kpolicy.dev/" in text]
    return [text for text in ours if reformat(text).text is not None]


def laid_out(text: str) -> str:
    made = reformat(Source("policy.yaml", text))
    assert made.text is not None, made.diagnostics
    return made.text


def meant(root: Node) -> Any:
    """What a document says: of a policy that a manifest carries as text, what that says."""
    value: Any = plain(root)
    for path, scalar in carried(root):
        inside: Any = value
        for step in path[:-1]:
            inside = inside[step]
        texts = read_documents(Source("carried", scalar.text))
        inside[path[-1]] = [plain(node) for node in texts.roots]
    return value


def test_an_untidy_file() -> None:
    assert laid_out((HERE / "untidy.yaml").read_text()) == (HERE / "tidy.yaml").read_text()


def test_what_we_ship_is_in_the_usual_form() -> None:
    texts = [path.read_text("utf-8") for path in (ROOT / "python/kpolicy/policies").glob("*.yaml")]
    assert len(texts) >= 3
    assert [text for text in texts if laid_out(text) != text] == []


def test_what_convert_writes_is_in_the_usual_form() -> None:
    legacy = {"kind": "Policy", "predicates": [{"name": "GeneralPredicates"}], "priorities": []}
    text = convert_policy(json.dumps(legacy)).text
    assert text is not None
    assert laid_out(text) == text


def mutated(text: str, chance: Random) -> str:
    """The text as somebody may have left it: comments, blank lines and blanks anywhere."""
    lines = text.split("\n")
    for _ in range(chance.randrange(1, 7)):
        at = chance.randrange(len(lines))
        own = len(lines[at]) - len(lines[at].lstrip())
        match chance.randrange(8):
            case 0:
                column = chance.choice([own, 0, own + 2, max(0, own - 2)])
                lines.insert(at, " " * column + f"# comment {chance.randrange(1000)}")
            case 1:
                lines.insert(at, "")
            case 2 if lines[at].strip():
                lines[at] += f"  # behind {chance.randrange(1000)}"
            case 3:
                del lines[at]
                lines = lines or [""]
            case 4:
                lines[at] = lines[at].replace(": ", ":    ", 1)
            case 5 if at + 1 < len(lines):
                lines[at], lines[at + 1] = lines[at + 1], lines[at]
            case 6:
                lines[at] += "   "
            case 7:
                lines = [" " * ((len(line) - len(line.lstrip())) // 2) + line for line in lines]
    return "\n".join(lines)


@pytest.mark.parametrize("seed", range(8))
def test_twice_is_once_and_nothing_is_lost(seed: int) -> None:
    chance = Random(seed)
    texts = policies()
    assert len(texts) >= 4
    done = changed = 0
    for _ in range(36):
        text = mutated(chance.choice(texts), chance)
        made = reformat(text)
        if made.text is None:
            # It cannot be read; what can be read can be laid out.
            assert {finding.code for finding in made.diagnostics} & {"KP119"} == set()
            continue
        done += 1
        changed += made.text != text
        assert laid_out(made.text) == made.text
        before, after = read_documents(Source("a", text)), read_documents(Source("b", made.text))
        assert sorted(comments_of(before)) == sorted(comments_of(after))
        pairs = zip(before.roots, after.roots, strict=False)
        assert all(meant(before) == meant(after) for before, after in pairs)
        programs = [compile_policy(text).program for text in (text, made.text)]
        if programs[0] is not None:
            assert programs[1] is not None
            assert programs[0].hash == programs[1].hash
    assert done >= 8
    assert changed >= 4


@pytest.mark.parametrize(
    "text",
    [
        "a: [1",
        "apiVersion: kpolicy.dev/v1alpha1\nkind: SchedulingPolicy\nkind: x\n",
        b"\xff\xfe",
        "apiVersion: kpolicy.dev/v1alpha1\nkind: &a SchedulingPolicy\n",
    ],
)
def test_what_cannot_be_read_is_not_written(text: str | bytes) -> None:
    made = reformat(Source("policy.yaml", text))
    assert made.text is None
    assert made.diagnostics


def test_a_layout_of_another_meaning_is_refused() -> None:
    made = reformat("? apiVersion\n: kpolicy.dev/v1alpha1\nkind: SchedulingPolicy\n")
    assert made.text is None or laid_out(made.text) == made.text
    tagged = "apiVersion: kpolicy.dev/v1alpha1\nspec: !!map\n  # why\n  a: 1\n"
    made = reformat(tagged)
    assert made.text is None or "# why" in made.text


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a: 1\nb:   2\n",
        '{"kind": "Policy", "predicates": []}\n',
        "# only a comment\n",
        "apiVersion: v1\nkind:   ConfigMap\n",
    ],
)
def test_what_is_not_ours_is_left_alone(text: str) -> None:
    assert laid_out(text).strip() == text.strip()


UNTIDY = (HERE / "untidy.yaml").read_text()
TIDY = (HERE / "tidy.yaml").read_text()


def manifest(policy: str, header: str, indent: int, after: str = "") -> str:
    lines = "".join(f"{' ' * indent}{line}\n" if line else "\n" for line in policy.splitlines())
    return (
        "# ours\napiVersion:   v1\nkind: ConfigMap\nmetadata: {name:  x,\n  labels: {}}\ndata:\n"
        f"      other:   'a: 1'\n      p.yaml:   {header}\n{lines}{after}"
        "      last.txt: |\n            kind:   x\n"
    )


@pytest.mark.parametrize(
    ("header", "indent", "after"),
    [
        ("|", 9, ""),
        ("|", 7, "\n\n"),
        ("|-", 8, "\n"),
        ("|+", 12, "\n"),
        ("|  # why", 8, ""),
        ("|2", 8, ""),
    ],
)
def test_only_the_policy_in_a_config_map_is_laid_out(header: str, indent: int, after: str) -> None:
    text = manifest(UNTIDY, header, indent, after)
    assert laid_out(text) == manifest(TIDY, header, indent, after)
    assert laid_out(laid_out(text)) == laid_out(text)
    windows = text.replace("\n", "\r\n")
    assert laid_out(windows) == laid_out(text).replace("\n", "\r\n")


def test_a_list_of_config_maps_beside_a_policy() -> None:
    def listed(policy: str) -> str:
        lines = manifest(policy, "|", 9).splitlines()[1:]
        item = "".join(f"    {line}\n" if line else "\n" for line in lines)
        return f"apiVersion: v1\nkind: List\nitems:\n  - immutable: true\n{item}---\n{policy}"

    assert laid_out(listed(UNTIDY)) == listed(TIDY)


def test_json_and_quoted_texts_are_left_as_they_are_and_told() -> None:
    policy = '{"kind":  "SchedulingPolicy", "apiVersion": "kpolicy.dev/v1alpha1"}'
    made = reformat(policy)
    assert (made.text, [finding.severity for finding in made.diagnostics]) == (
        policy + "\n",
        ["info"],
    )
    text = f"kind: ConfigMap\ndata:\n    p.json: '{policy}'\n    q.yaml: >-\n        {policy}\n"
    made = reformat(text)
    assert made.text == text
    places = [finding.place.line for finding in made.diagnostics if finding.place is not None]
    assert sorted(places) == [3, 4]


def test_what_a_config_map_carries_and_cannot_be_read_is_reported_where_it_stands() -> None:
    text = "kind: ConfigMap\ndata:\n  p.yaml: |\n    kind: [x\n    a: 1\n"
    made = reformat(text)
    assert made.text is None
    assert made.diagnostics[0].place is not None
    assert made.diagnostics[0].place.line in (4, 5)


@pytest.mark.parametrize(
    "scalar",
    [
        "|\n      a\n       b\n\n      c\n",
        "|\n      a  \n",
        "|\n      a\n         \n      b\n",
        "|-\n      a\n",
        "|+\n      a\n\n",
        ">\n      a\n      b\n",
        "|2\n        a\n      b\n",
        "|  # why\n      a\n",
        "'it''s\n      so'\n",
        '"a\\\n      b"\n',
    ],
)
def test_scalars_keep_their_value_and_their_style(scalar: str) -> None:
    deeper = scalar.replace("\n      ", "\n        ")
    text = (
        "apiVersion: kpolicy.dev/v1alpha1\nkind: SchedulingPolicy\nspec:\n    predicates:\n"
        f"    - name: x\n      message: {deeper}"
        "    - builtin: NodeName\n"
    )
    before = read_documents(Source("a", text))
    assert before.diagnostics == ()
    made = laid_out(text)
    after = read_documents(Source("b", made))
    assert [plain(root) for root in after.roots] == [plain(root) for root in before.roots]
    assert f"message: {scalar[0]}" in made
    assert laid_out(made) == made


def test_a_block_of_blanks_only_keeps_its_value_and_is_laid_out_once() -> None:
    head = "apiVersion: kpolicy.dev/v1alpha1\nexpression: |\n"
    assert reformat(f"{head}        ").text == head
    assert reformat(head).text == head
