"""What is wrong with tests, without running them: as `kpolicy test` says before it runs any.

Owns which documents are looked at. Assumes that policies of the same sources are checked elsewhere.
Must not run a test.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from kpolicy.diagnostics import Diagnostic
from kpolicy.offline.testing.documents import holds_only_tests, holds_tests, read_suites
from kpolicy.offline.testing.load import load_inputs
from kpolicy.offline.testing.run import SuiteRun
from kpolicy.policy.yaml.source import Source, SourceText


@dataclass(frozen=True, slots=True)
class CheckedTests:
    """`others` are the sources that hold something besides tests."""

    diagnostics: tuple[Diagnostic, ...]
    texts: tuple[SourceText, ...]
    others: tuple[Source, ...]


def check_tests(sources: Sequence[Source], params: Mapping[str, Any]) -> CheckedTests:
    """Of every PolicyTest among the sources."""
    read = read_suites([source for source in sources if holds_tests(source)])
    said = list(read.diagnostics)
    for suite in read.suites:
        inputs = replace(load_inputs(suite), others=tuple(sources))
        work = SuiteRun(suite, inputs, params)
        said += work.findings()
        said += work.result().diagnostics
    others = tuple(source for source in sources if not holds_only_tests(source))
    return CheckedTests(tuple(dict.fromkeys(said)), read.texts, others)
