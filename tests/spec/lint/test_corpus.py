"""The corpus of broken policies: each file has exactly the findings that are written down for it.

`corpus/expected.json` holds them by file, in order, with the text that is printed; `python -m
tests.spec.lint.test_corpus` writes it again. Files of `corpus/snapshot` are linted against the
recorded cluster of `cluster.py`, files of `corpus/authority` for a process that limits policies.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import pytest

from kpolicy.offline.snapshot_lint.lint_snapshot import lint
from kpolicy.offline.snapshots.cluster_snapshot import Snapshot
from kpolicy.policy.authority import UNLIMITED, Authority
from kpolicy.policy.codes.registry import pages
from kpolicy.policy.yaml.source import Source
from tests.spec.lint.cluster import objects

CORPUS = Path(__file__).parent / "corpus"
Finding = dict[str, str]
EXPECTED: dict[str, list[Finding]] = json.loads((CORPUS / "expected.json").read_text("utf-8"))
FILES = sorted(
    str(path.relative_to(CORPUS))
    for path in CORPUS.rglob("*")
    if path.suffix in (".yaml", ".json") and path.name != "expected.json"
)
LIMITED = Authority(
    frozenset({"kpolicy"}),
    frozenset({"licences.tools.svc:8888"}),
    "/etc/certificates",
    tenant_label="example.com/team",
)
# Why no file here can have the code.
WITHOUT_FILE = {
    "KP109": "a megabyte, or 50,000 values: tests/unit/policy/yaml/test_tree_reader.py makes them",
    "KP119": "`kpolicy fmt` refuses its own layout: tests/unit/cli/verbs/test_documents_fmt.py",
    "KP124": "a value given by hand: tests/unit/policy/assembly/test_params.py",
    "KP135": "of a tenant: tests/unit/scheduler/delivery/test_tenant_programs.py",
    "KP136": "of a tenant: tests/unit/scheduler/delivery/test_tenant_programs.py",
    "KP142": "a volume of a running scheduler: tests/unit/scheduler/delivery/test_sources.py",
    "KP501": "of tests, which `kpolicy test` reads",
    "KP502": "of tests, which `kpolicy test` reads",
    "KP503": "of tests, which `kpolicy test` reads",
    "KP605": "of `kpolicy convert`: tests/unit/cli/verbs/test_documents_convert.py",
    "KP608": "of `kpolicy convert`: tests/unit/cli/verbs/test_documents_convert.py",
    "KP504": "of a recorded file: tests/unit/offline/snapshot_lint/test_lint_snapshot.py",
    "KP510": "of a scenario: tests/unit/offline/days/test_read_scenario.py",
    "KP511": "of a scenario: tests/unit/offline/days/test_read_scenario.py",
    "KP512": "of a scenario: tests/unit/offline/days/test_read_scenario.py",
}


@cache
def snapshot() -> Snapshot:
    return Snapshot.of(objects())


def findings(file: str) -> list[Finding]:
    source = Source(file, (CORPUS / file).read_bytes())
    against = snapshot() if file.startswith("snapshot/") else None
    authority = LIMITED if file.startswith("authority/") else UNLIMITED
    found = []
    for finding in lint([source], against, authority=authority).diagnostics:
        place = finding.place
        assert place is not None, finding
        span = f"{place.line}:{place.column}-{place.end_line}:{place.end_column}"
        texts = {"message": finding.message, "hint": str(finding.hint or "")}
        found.append({"code": finding.code, "place": span, **{k: v for k, v in texts.items() if v}})
    return found


@pytest.mark.parametrize("file", FILES)
def test_a_file_has_the_findings_that_are_written_down(file: str) -> None:
    assert findings(file) == EXPECTED[file]


def test_the_corpus_is_whole() -> None:
    assert len(FILES) >= 70
    assert set(FILES) == set(EXPECTED)
    assert all(EXPECTED.values())


def test_every_code_has_a_file_or_a_reason() -> None:
    found = {finding["code"] for listed in EXPECTED.values() for finding in listed}
    assert len(found) >= 50
    assert found | set(WITHOUT_FILE) == set(pages())
    assert not found & set(WITHOUT_FILE)


if __name__ == "__main__":
    written = json.dumps({file: findings(file) for file in FILES}, indent=1, ensure_ascii=False)
    (CORPUS / "expected.json").write_text(written + "\n", "utf-8")
