"""Whatever a test file holds, running it gives results and never raises."""

from __future__ import annotations

from random import Random

from hypothesis import example, given, settings, strategies as st

from kpolicy.cli import policy_test_text
from kpolicy.cli.policy_test_junit import junit
from kpolicy.offline.policy_tests.results import rewrites, updated
from kpolicy.offline.policy_tests.session import run_tests
from kpolicy.policy.yaml.source import Source
from tests.tree.sources import ROOT

FILES = sorted((ROOT / "policies").glob("*.test.yaml"))
PIECES = (
    "null",
    "[]",
    "{}",
    "5",
    "-1",
    "1e99",
    "'x'",
    "x:",
    "- ",
    "\n",
    ": ",
    "}",
    "{",
    "]",
    "name: ",
    "expect: ",
    "pod: ",
    "from: ",
    "nodes: ",
    "metadata: ",
    "spec: ",
    "\x07",
    "true",
    "99999999999",
)


def damaged(text: str, chance: Random) -> str:
    for _ in range(chance.randint(1, 3)):
        at = chance.randrange(len(text))
        end = min(len(text), at + chance.choice((0, 0, 1, 5, 20)))
        text = text[:at] + chance.choice(PIECES) + text[end:]
    return text


@settings(max_examples=150)
@given(st.integers(0, len(FILES) - 1), st.integers(0, 2**32))
def test_a_damaged_file_gives_results(index: int, seed: int) -> None:
    file = FILES[index]
    text = damaged(file.read_text("utf-8"), Random(seed))
    run = run_tests(Source(str(file), text))
    assert policy_test_text.text(run)
    assert policy_test_text.github(run) is not None
    assert policy_test_text.json_document(run)
    assert junit(run).endswith("</testsuites>\n")
    for listed in rewrites(run.suites).values():
        assert updated(text, listed)[1] > 0


@settings(max_examples=200)
@given(st.text() | st.binary())
@example("No")
def test_any_text_gives_results(text: str | bytes) -> None:
    assert not run_tests(Source("any.test.yaml", text)).is_fine
