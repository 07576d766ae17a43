"""Makes the pages of docs/reference from the tables that the compiler reads: `python -m
tests.docs`.

The examples of expressions are evaluated for one pod and one node of `cluster.yaml`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import Final

from kpolicy.cli.api_entry import field_meaning
from kpolicy.cli.input_output import load_snapshot
from kpolicy.cli.reference_text import page_markdown
from kpolicy.cli.schemas import schema_of
from kpolicy.cli.verbs.rule import fact_wakes
from kpolicy.offline.answers.evaluate import Evaluated, Evaluating
from kpolicy.offline.policy_tests.document_model import nanoseconds
from kpolicy.offline.reports.answer_text import value_text
from kpolicy.policy.cel.facts import ALLOCATION, API_RECORDS, QUEUE, TENANT, VICTIM
from kpolicy.policy.codes import FAMILIES
from kpolicy.policy.codes.registry import pages as code_pages, runtime_pages
from kpolicy.policy.reference.entry import Entry
from kpolicy.policy.reference.fields import all_fields, default_text
from kpolicy.policy.reference.language_entries import FACT, FIELD, language_entries
from kpolicy.policy.reference.rule_entries import BUILTIN, rule_entries
from tests.tree.sources import ROOT

FOLDER: Final = ROOT / "docs" / "reference"
CLUSTER: Final = FOLDER / "cluster.yaml"
POD: Final = "default/web"
NODE: Final = "ssd-1"
NOW: Final = "2026-11-02T10:20:30Z"
_MADE: Final = "<!-- `python -m tests.docs` writes this page. -->\n"
_EXAMPLES: Final = (
    "The examples are evaluated for the pod `default/web` and the node `ssd-1` of "
    f"[this cluster](cluster.yaml), at {NOW}."
)


def reference_pages() -> dict[Path, str]:
    """Every page that is made, with its text."""
    makers: dict[str, Callable[[], Iterable[str]]] = {
        "facts": _facts,
        "functions": _functions,
        "api-fields": _api_fields,
        "rules": _rules,
        "policy-fields": lambda: _fields("SchedulingPolicy", "Fields of a SchedulingPolicy"),
        "test-fields": lambda: _fields("PolicyTest", "Fields of a PolicyTest"),
        "scenario-fields": lambda: _fields("Scenario", "Fields of a Scenario"),
        "settings-fields": _settings,
        "codes": _codes,
    }
    return {
        FOLDER / f"{name}.md": _MADE + "\n\n".join(maker()) + "\n" for name, maker in makers.items()
    }


@cache
def entries() -> tuple[Entry, ...]:
    return tuple(language_entries(fact_wakes()))


@cache
def _cluster() -> Evaluating:
    return Evaluating(load_snapshot([str(CLUSTER)]), now_ns=nanoseconds(NOW))


def evaluated(example: str) -> Evaluated:
    return _cluster().evaluate(example, {}, pod=POD, node=NODE)


def has_value(entry: Entry) -> bool:
    """Victims are there while pods are evicted only, tenants while pods are queued, allocations
    while they are compared."""
    return entry.name.split(".")[0] not in (VICTIM, TENANT, QUEUE, ALLOCATION)


def _result(entry: Entry) -> str:
    if not has_value(entry):
        return ""
    answer = evaluated(entry.example)
    assert answer.error is None, (entry.name, entry.example, answer.error)
    return value_text(answer)


def _facts() -> Iterator[str]:
    yield "# Facts"
    yield (
        "A fact is what an expression may read of the pod, the node, the cluster and the pod's "
        f"namespace. {_EXAMPLES} The cost is the most that the example may take on one node, in "
        "units; `kpolicy rule node.labels` prints an entry in the terminal. Fields of the API are "
        "on [a page of their own](api-fields.md)."
    )
    of_facts = [entry for entry in entries() if entry.kind in (FACT, FIELD)]
    for root, group in groupby(of_facts, key=lambda entry: entry.group):
        yield f"## {root}"
        yield from (_entry(entry) for entry in group)


def _entry(entry: Entry) -> str:
    lines = [f"### {entry.name}", "", entry.meaning, ""]
    lines += [f"    {form}" for form in entry.forms]
    lines += ["", *_example(entry)]
    for label, text in (
        ("grows with", entry.charged),
        ("known", entry.known),
        ("wakes", "; ".join(entry.wakes)),
    ):
        if text:
            lines.append(f"- {label}: {text}")
    return "\n".join(lines)


def _example(entry: Entry) -> Iterator[str]:
    result = _result(entry)
    yield f"- example: `{entry.example}`" + (f" is `{result}`" if result else "")
    if entry.cost is not None:
        yield f"- cost of the example: {entry.cost}"


def _functions() -> Iterator[str]:
    yield "# Functions, macros and operators"
    yield (
        "Expressions are CEL with the libraries of Kubernetes and some functions of kpolicy. "
        f"{_EXAMPLES} `kpolicy rule clamp` prints an entry in the terminal."
    )
    of_calls = [entry for entry in entries() if entry.kind not in (FACT, FIELD)]
    groups = dict.fromkeys(entry.group for entry in of_calls)
    for name in groups:
        yield f"## {name}"
        yield from (_entry(entry) for entry in of_calls if entry.group == name)


def _api_fields() -> Iterator[str]:
    yield "# Fields of the API"
    yield (
        "`pod`, `node` and `namespaceObject` have `metadata`, `spec` and `status` with the fields "
        "of the API: `node.status.nodeInfo.kernelVersion`. Times are timestamps, quantities are "
        "strings. A field that an object does not have is absent: ask with `has()`. The meanings "
        "are those of the Kubernetes client. `kpolicy rule node.status.nodeInfo.kernelVersion` "
        "prints one, with what wakes."
    )
    for kind in API_RECORDS:
        name = kind.name.removeprefix("v1.")
        rows = [
            (f"`{field}`", f"`{str(member.result).replace('v1.', '')}`", field_meaning(name, field))
            for field, member in kind.members.items()
        ]
        yield f"## {name}"
        yield _table(("field", "type", "meaning"), rows)


def _rules() -> Iterator[str]:
    yield "# Rules"
    yield (
        "The built-ins have kube-scheduler's names. In a policy, a rule is `builtin: NAME` with "
        "`args`, or an `expression`. `kpolicy rule NodeAffinity` prints an entry in the terminal."
    )
    listed = list(rule_entries())
    yield "## Built-ins"
    for entry in listed:
        if entry.kind == BUILTIN:
            yield _built_in(entry)
    yield "## Names of the legacy Policy"
    yield "A `scheduler.json` (kind Policy) has these names; kpolicy reads each as what it meant."
    rows = [
        (f"`{entry.name}`", entry.kind.partition(" ")[0], _cell(entry.meaning), entry.releases)
        for entry in listed
        if entry.kind != BUILTIN
    ]
    yield _table(("name", "kind", "meaning", "releases"), rows)


def _built_in(entry: Entry) -> str:
    lines = [f"### {entry.name}", "", entry.meaning, "", f"- releases: {entry.releases}"]
    lines += [f"- {form}" for form in entry.forms]
    if entry.weight:
        lines.append(f"- weight in the default profile: {entry.weight}")
    lines += ["", "```yaml", entry.example, "```"]
    if entry.arguments:
        rows = [
            (f"`{path}`", _cell(field.type), _default(field.default), _cell(field.meaning))
            for path, field in entry.arguments
        ]
        lines += ["", _table(("argument", "type", "default", "meaning"), rows)]
    return "\n".join(lines)


def _settings() -> Iterator[str]:
    yield "# Fields of settings"
    yield "`kpolicy run --config FILE` reads a SchedulerConfiguration, `kpolicy lint` kpolicy.toml."
    for kind, title in (
        ("SchedulerConfiguration", "SchedulerConfiguration"),
        ("Settings", "kpolicy.toml"),
        ("KubeSchedulerConfiguration", "KubeSchedulerConfiguration"),
    ):
        yield f"## {title}"
        yield _field_table(kind)


def _fields(kind: str, title: str) -> Iterator[str]:
    yield f"# {title}"
    yield (
        f"`kpolicy explain-field --kind {kind} FIELD` prints one in the terminal; `kpolicy schema "
        f"--kind {kind}` prints the JSON Schema for editors. `NAME` stands for a key that the "
        "author chooses."
    )
    yield _field_table(kind)


def _field_table(kind: str) -> str:
    rows = [
        (f"`{path}`", _cell(field.type), _default(field.default), _cell(field.meaning))
        for path, field in all_fields(schema_of(kind))
    ]
    return _table(("field", "type", "default", "meaning"), rows)


def _codes() -> Iterator[str]:
    yield "# Codes of findings"
    listed = "; ".join(f"{prefix}xx: {what}" for prefix, what in FAMILIES.items())
    yield f"`kpolicy rule KP204` prints one in the terminal. {listed}."
    for page in {**code_pages(), **runtime_pages()}.values():
        yield page_markdown(page).rstrip()


def _default(default: object) -> str:
    return "" if default is None else f"`{_cell(default_text(default))}`"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
