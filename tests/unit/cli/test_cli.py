"""The command line as a whole: verbs, exit codes and messages of failures."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

from kpolicy import cli
from kpolicy.cli.verb import Verb
from kpolicy.version import VERSION
from tests.tree.sources import ROOT


def test_without_a_verb_the_overview_is_shown_and_nothing_was_done(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert cli.main([]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert "lint" in err


def test_help_lists_the_verbs_that_are_there(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["--help"]) == 0
    out = capsys.readouterr().out
    assert set(cli.VERBS) >= {"lint", "rule", "schema"}
    for verb, summary in cli.VERBS.items():
        assert f"  {verb}" in out
        assert summary in out


def test_each_verb_has_help_of_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    for verb in ("lint", "rule", "schema"):
        assert cli.main([verb, "--help"]) == 0
        assert f"kpolicy {verb}" in capsys.readouterr().out


def test_the_version_is_data(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["--version"]) == 0
    assert capsys.readouterr().out == f"kpolicy {VERSION}\n"


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (["lnt"], "did you mean `lint`?"),
        (["quux"], "one of"),
        (["lint", "--nope"], "--nope"),
    ],
)
def test_bad_flags_are_two_and_say_what_is_wrong(
    arguments: list[str], hint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(arguments) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert hint in err


def broken_verb(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> None:
    """The verb `rule`, as one that raises."""

    def fail(_: object) -> int:
        raise error

    module = ModuleType("kpolicy.cli.verbs.rule")
    module.__dict__.update(RULE=Verb("rule", "", fail))
    module.__spec__ = SimpleNamespace(name="kpolicy.cli.verbs.rule")  # type: ignore[assignment]
    monkeypatch.setitem(sys.modules, "kpolicy.cli.verbs.rule", module)


def test_an_unexpected_exception_is_ours_and_says_where_to_report_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    broken_verb(monkeypatch, ValueError("the reason"))
    monkeypatch.delenv("KPOLICY_DEBUG", raising=False)
    assert cli.main(["rule"]) == 101
    err = capsys.readouterr().err
    assert "a bug of kpolicy" in err
    assert "ValueError: the reason" in err
    assert "/issues" in err
    assert "Traceback" not in err
    monkeypatch.setenv("KPOLICY_DEBUG", "1")
    assert cli.main(["rule"]) == 101
    assert "Traceback" in capsys.readouterr().err


def test_an_interrupt_is_not_a_bug(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    broken_verb(monkeypatch, KeyboardInterrupt())
    assert cli.main(["rule"]) == 130
    assert "bug" not in capsys.readouterr().err


@pytest.mark.parametrize("buffered", ["", "1"], ids=["as it is printed", "at the end"])
def test_a_full_disk_is_not_a_bug(buffered: str) -> None:
    with Path("/dev/full").open("w", encoding="utf-8") as full:
        done = subprocess.run(
            [sys.executable, "-m", "kpolicy", "rule", "KP101"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
            env={**os.environ, "PYTHONPATH": str(ROOT / "python"), "PYTHONUNBUFFERED": buffered},
        )
    assert done.returncode == 2
    assert done.stderr == "kpolicy: the output cannot be written: No space left on device\n"


def test_the_plugin_is_called_as_kubectl_calls_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["/usr/local/bin/kubectl-kpolicy", "lint", "--help"])
    assert cli.main() == 0
    assert "usage: kubectl kpolicy lint" in capsys.readouterr().out


def test_starting_loads_no_verb_and_nothing_heavy() -> None:
    heavy = ("pydantic", "lark", "celpy", "aiohttp", "kubernetes", "opentelemetry", "yaml", "rich")
    code = f"import sys, kpolicy.cli; print([m for m in {heavy!r} if m in sys.modules])"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "[]"


def test_public_names_are_loaded_when_they_are_used() -> None:
    code = "import sys, kpolicy; print('pydantic' in sys.modules); kpolicy.compile_policy; print('pydantic' in sys.modules)"  # noqa: E501
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.split() == ["False", "True"]


# What a short command must not wait for, and the number of modules that it may load.
HEAVY = (
    "_hashlib",
    "aiohttp",
    "asyncio",
    "celpy",
    "email",
    "http",
    "importlib.metadata",
    "kpolicy.offline.answers.cross_check",
    "kpolicy.policy.cel.re2_patterns",
    "kpolicy.policy.cel.windows",
    "kpolicy.policy.legacy.kubescheduler",
    "kpolicy.policy.legacy.rules",
    "kubernetes",
    "multiprocessing",
    "opentelemetry",
    "rich",
    "shutil",
    "ssl",
    "urllib.request",
)


@pytest.mark.parametrize(
    ("command", "modules_max"),
    [("lint --isolated demo", 295), ("test policies/demo.test.yaml", 337)],
    ids=["lint", "test"],
)
def test_a_short_command_loads_only_what_it_needs(command: str, modules_max: int) -> None:
    code = (
        "import atexit, sys; from kpolicy.__main__ import main; "
        f"sys.argv = ['kpolicy', *{command.split()!r}]; atexit.register(lambda: "
        f"print(len(sys.modules), [m for m in {HEAVY!r} if m in sys.modules])); sys.exit(main())"
    )
    shown = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT
    )
    count, heavy = shown.stdout.splitlines()[-1].split(maxsplit=1)
    assert heavy == "[]"
    assert 200 < int(count) <= modules_max
