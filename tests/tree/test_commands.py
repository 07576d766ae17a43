"""Commands and modules that pages and messages name exist: verbs with their flags, dotted names."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from kpolicy.cli import VERBS, load_verb
from kpolicy.cli.flag_check import unknown_flag
from kpolicy.cli.verbs.kube_scheduler_flags import KUBE_SCHEDULER_FLAGS
from tests.tree.sources import ROOT, with_suffix

_QUOTED = re.compile(r"`(?:kubectl )?kpolicy ([a-z][^`\n]*)`")
_BLOCK = re.compile(r"```(?:sh|console)\n(.*?)```", re.DOTALL)
_LINE = re.compile(r"\s*(?:\$ )?kpolicy ([a-z].*)")
_DOTTED = re.compile(r"(?<![\w./-])(kpolicy(?:\.[a-z_][a-z0-9_]*)+)(?![\w/-])")
# Names in Kubernetes and on the web, not of modules.
_DOMAINS = frozenset(("dev", "io", "toml", "yaml"))
# Sentences that are no commands.
_PROSE = frozenset(("and", "binds", "is", "parks", "with"))


def _commands(path: Path) -> Iterator[str]:
    text = path.read_text("utf-8")
    yield from _QUOTED.findall(text)
    for block in _BLOCK.findall(text) if path.suffix == ".md" else ():
        for line in block.replace("\\\n", " ").splitlines():
            for part in re.split(r"&&|;", line):
                if found := _LINE.match(part):
                    yield found[1]


@cache
def _parser(verb: str) -> tuple[object, dict[str, str]]:
    import argparse

    parser = argparse.ArgumentParser(prog="kpolicy", allow_abbrev=False)
    found = load_verb(verb)
    found.add_to(parser.add_subparsers())
    return parser, dict(found.other_flags)


def wrong(command: str) -> str:
    """What is wrong with a command that a page names; empty if nothing is."""
    words = re.split(r"[<>|`]", command)[0].replace("…", " ").split()
    if not words or "{" in words[0] or words[0] in _PROSE:
        return ""
    if words[0] not in VERBS:
        return f"there is no verb `{words[0]}`"
    plain = [w.rstrip(",.)") if w.startswith("-") else w.strip("'\"[](),.") for w in words]
    parser, _ = _parser(words[0])
    return unknown_flag(parser, plain)  # type: ignore[arg-type]


def test_commands_that_pages_and_messages_name_exist() -> None:
    files = [
        path for path in (*with_suffix(".md"), *with_suffix(".py")) if "tests" not in path.parts
    ]
    named = [(path, command) for path in files for command in _commands(path)]
    assert len(named) > 250
    found = [f"{path.relative_to(ROOT)}: {c}: {wrong(c)}" for path, c in named if wrong(c)]
    assert found == []


def test_the_check_finds_what_is_not_there() -> None:
    assert wrong("lnt policy.yaml") == "there is no verb `lnt`"
    assert "no flag `--ouput`" in wrong("lint --ouput json policy.yaml")
    assert wrong("lint --output json policy.yaml") == ""


def _is_there(name: str) -> bool:
    """Whether a dotted name is a module, or the name of something in one."""
    parts = name.split(".")
    for count in range(len(parts), 0, -1):
        path = ROOT / "python" / Path(*parts[:count])
        for file in (path.with_suffix(".py"), path.with_suffix(".pyi"), path / "__init__.py"):
            if file.is_file():
                left = parts[count : count + 1]
                return not left or re.search(rf"\b{left[0]}\b", file.read_text("utf-8")) is not None
        if path.is_dir():
            return count == len(parts)
    return False


def test_modules_that_pages_and_modules_name_exist() -> None:
    sources = "".join(path.read_text("utf-8") for path in with_suffix(".py"))
    looked_at = 0
    missing = []
    for path in (*with_suffix(".md"), *with_suffix(".toml"), *with_suffix(".py")):
        if path.suffix == ".py" and "tests" in path.parts:
            continue
        for name in _DOTTED.findall(path.read_text("utf-8")):
            if name.split(".")[1] in _DOMAINS:
                continue
            looked_at += 1
            # Attributes of traces and names of benchmarks are texts of the code.
            is_text = path.suffix == ".py" or f'"{name}"' in sources
            if not _is_there(name) and not (is_text and f'"{name}' in sources):
                missing.append(f"{path.relative_to(ROOT)}: {name}")
    assert sorted(set(missing)) == []
    assert looked_at > 1_500


def test_the_page_has_every_flag_of_kube_scheduler_that_is_answered() -> None:
    page = (ROOT / "docs" / "differences-from-kube-scheduler.md").read_text("utf-8")
    rows = dict(re.findall(r"^\| `(--[a-z0-9-]+)` \| (.+) \|$", page, re.MULTILINE))
    assert rows == KUBE_SCHEDULER_FLAGS
    assert {
        "--policy-config-file",
        "--use-legacy-policy-config",
        "--policy-configmap-namespace",
    } <= set(rows)
    assert not [flag for flag in rows if not unknown_flag(_parser("run")[0], ["run", flag])]  # type: ignore[arg-type]


def test_every_flag_of_kube_scheduler_is_one_of_run_or_is_answered() -> None:
    """The file has what `kube-scheduler --help` of 1.36 lists, and what it hides."""
    theirs = (ROOT / "tests" / "tree" / "kube_scheduler_flags.txt").read_text("utf-8").split()
    assert len(theirs) >= 60
    parser, _ = _parser("run")
    others = [flag for flag in theirs if flag not in KUBE_SCHEDULER_FLAGS]
    assert len(others) >= 5
    assert [flag for flag in others if unknown_flag(parser, ["run", flag])] == []  # type: ignore[arg-type]
