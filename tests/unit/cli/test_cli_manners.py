"""Manners of the command line, from outside: one shape of machine output, colours, flags that are
misspelt, terminals, control characters, and ctrl-C.
"""

from __future__ import annotations

import json
import os
import pty
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from kpolicy import cli
from kpolicy.cli.output_schema import output_schema
from kpolicy.version import DOCUMENT_VERSION, VERSION
from tests.tree.sources import ROOT

Capture = pytest.CaptureFixture[str]
SNAPSHOT = str(ROOT / "docs" / "policies" / "cluster.yaml")
JOURNAL = str(ROOT / "docs" / "guides" / "shop-journal")
BROKEN = ROOT / "tests" / "spec" / "lint" / "corpus" / "kp103-enum.yaml"
# By kind of document: a command that prints it, and the list whose items are the lines of jsonl.
COMMANDS = {
    "lint": (["lint", str(BROKEN)], "findings"),
    "test": (["test", str(ROOT / "policies" / "demo.test.yaml")], ""),
    "eval": (["eval", "1 + 1"], ""),
    "explain": (["explain", "-s", SNAPSHOT], "explanations"),
    "simulate": (["simulate", "-s", SNAPSHOT, "--every-pod"], "pods"),
    "days": (["simulate", "--scenario", JOURNAL], "samples"),
    "sweep": (["sweep", "--scenario", JOURNAL], "cells"),
    "diff": (["diff", "demo", "bin-packing", "-s", SNAPSHOT, "--every-pod"], "differences"),
    "plan": (["plan", "demo", "bin-packing", "-s", SNAPSHOT, "--every-pod"], ""),
    "replay": (["replay", JOURNAL], "differences"),
    "bench": (["bench", "-w", "basic", "--nodes", "20", "--pods", "20"], "measured"),
    "rule": (["rule", "--all"], "codes"),
    "explain-field": (["explain-field", "spec.priorities"], ""),
    "policies": (["policies"], "policies"),
    "snapshot": (["snapshot", "info", SNAPSHOT], ""),
    "version": (["version"], ""),
}


def problems(value: Any, schema: dict[str, Any], at: str = "") -> list[str]:
    """What of the value is not as the schema says, in the few words that our schema uses."""
    types = {
        "string": str,
        "integer": int,
        "number": (int, float),
        "boolean": bool,
        "object": dict,
        "array": list,
        "null": type(None),
    }
    known = {"type", "required", "properties", "items", "enum", "const", "title", "description"}
    assert set(schema) <= known
    if "const" in schema and value != schema["const"]:
        return [f"{at} is not {schema['const']}"]
    if "enum" in schema and value not in schema["enum"]:
        return [f"{at} is not one of {schema['enum']}"]
    wanted = schema.get("type", [])
    kinds = [types[each] for each in ([wanted] if isinstance(wanted, str) else wanted)]
    if kinds and not any(isinstance(value, kind) for kind in kinds):  # type: ignore[arg-type]
        return [f"{at} is no {schema['type']}"]
    found = [f"{at}.{name} is missing" for name in schema.get("required", ()) if name not in value]
    for name, below in schema.get("properties", {}).items():
        if name in value:
            found += problems(value[name], below, f"{at}.{name}")
    for index, item in enumerate(value if "items" in schema else ()):
        found += problems(item, schema["items"], f"{at}[{index}]")
    return found


@pytest.mark.parametrize("kind", COMMANDS)
def test_json_is_one_document_of_the_published_schema(kind: str, capsys: Capture) -> None:
    arguments, key = COMMANDS[kind]
    assert cli.main([*arguments, "--output", "json"]) in (0, 1)
    document = json.loads(capsys.readouterr().out)
    assert (document["version"], document["kind"]) == (DOCUMENT_VERSION, kind)
    (schema,) = (
        each for each in output_schema()["oneOf"] if each["properties"]["kind"]["const"] == kind
    )
    assert problems(document, schema) == []
    if kind == "version":
        return
    assert cli.main([*arguments, "--output", "jsonl"]) in (0, 1)
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert lines
    if key and kind != "bench":  # whose figures are times
        assert [line for line in lines if "summary" not in line] == document[key]


def test_every_kind_of_document_is_tried_and_published(capsys: Capture) -> None:
    kinds = {each["properties"]["kind"]["const"] for each in output_schema()["oneOf"]}
    # `why` needs a cluster: test_why.py compares what it prints.
    assert kinds == set(COMMANDS) | {"why", "why-all"}
    page = (ROOT / "docs" / "command-line.md").read_text("utf-8")
    rows = dict(re.findall(r"^\| `([a-z-]+)(?: info)?` \| (.*?) \| ", page, re.MULTILINE))
    for each in output_schema()["oneOf"]:
        kind = each["properties"]["kind"]["const"]
        fields = set(each["required"]) - {"version", "kind"}
        assert fields <= set(re.findall(r"`([a-zA-Z]+)`", rows[kind])), kind
    assert cli.main(["schema", "--kind", "Output"]) == 0
    assert json.loads(capsys.readouterr().out)["oneOf"] == output_schema()["oneOf"]


@pytest.mark.parametrize(
    ("setting", "is_painted"),
    [
        (([], {}), False),
        ((["--color", "always"], {}), True),
        ((["--color", "always"], {"NO_COLOR": "1"}), True),
        (([], {"FORCE_COLOR": "1"}), True),
        (([], {"FORCE_COLOR": "0"}), False),
        (([], {"FORCE_COLOR": "1", "NO_COLOR": "1"}), False),
        ((["--color", "never"], {"FORCE_COLOR": "1"}), False),
    ],
)
@pytest.mark.parametrize("kind", ["lint", "test", "explain"])
def test_colours_are_as_flag_and_environment_say(
    kind: str,
    setting: tuple[list[str], dict[str, str]],
    is_painted: bool,
    monkeypatch: pytest.MonkeyPatch,
    capsys: Capture,
) -> None:
    flags, variables = setting
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert cli.main([*COMMANDS[kind][0], *flags]) in (0, 1)
    assert ("\x1b[" in capsys.readouterr().out) is is_painted


@pytest.mark.parametrize(
    ("arguments", "message", "meant"),
    [
        (["lint", "--ouput", "json"], "kpolicy lint: there is no flag `--ouput`;", "`--output`"),
        (["explain", "--snapshto", "x"], "there is no flag `--snapshto`;", "`--snapshot`"),
        (["explain", "-p", "x"], "no flag `-p`;", "`--policy`, `--param` or `--pod`"),
        (["snapshot", "info", "--outptu=json", "x"], "no flag `--outptu`;", "`--output`"),
        (["run", "--polcy", "x"], "no flag `--polcy`;", "`--policy`"),
    ],
)
def test_a_misspelt_flag_is_answered_with_the_right_one(
    arguments: list[str], message: str, meant: str, capsys: Capture
) -> None:
    assert cli.main(arguments) == 2
    assert f"{message} did you mean {meant}?" in capsys.readouterr().err.splitlines()[0]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["snapshot", "inf"], "there is no verb `inf`; did you mean `info`?"),
        (["completion", "bsh"], "there is no `bsh`; did you mean `bash`?"),
        (["lint", "--color", "alway"], "there is no `alway`; did you mean `always`?"),
        (["lint", "-o", "concize"], "there is no format `concize`; did you mean `concise`?"),
        (["explain", "-o", "xml"], "there is no `xml`; one of table, json, jsonl"),
    ],
)
def test_a_misspelt_choice_is_answered_with_the_right_one(
    arguments: list[str], message: str, capsys: Capture
) -> None:
    assert cli.main(arguments) == 2
    assert capsys.readouterr().err.splitlines()[0].endswith(message)


def test_flags_of_kube_scheduler_are_answered_with_what_to_use(capsys: Capture) -> None:
    for flag, instead in {
        "--policy-config-file=a.json": "use `--policy FILE`, which reads the same scheduler.json",
        "--use-legacy-policy-config": "`--policy FILE` reads legacy policies too",
        "--policy-configmap-namespace=a": "use `--policy-configmap NS/NAME`",
        "-v=4": "use `--log-level`",
    }.items():
        assert cli.main(["run", flag]) == 2
        error = capsys.readouterr().err
        assert f"there is no flag `{flag.partition('=')[0]}`" in error
        assert instead in error


def test_help_and_version_are_verbs_too(capsys: Capture) -> None:
    assert cli.main(["version"]) == 0
    assert capsys.readouterr().out == f"kpolicy {VERSION}\n"
    assert cli.main(["help", "snapshot", "info"]) == 0
    assert "usage: kpolicy snapshot info" in capsys.readouterr().out
    assert cli.main(["help"]) == 0
    assert "verbs:" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        (["lint"], "a document"),
        (["fmt"], "a document"),
        (["hash"], "a document"),
        (["convert"], "a document"),
        (["test", "-"], "a document"),
        (["eval", "-"], "an expression"),
        (["eval", "--batch", "-"], "a batch"),
        (["explain", "-s", "-"], "a snapshot"),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, list) else "",
)
def test_no_verb_waits_silently_on_a_terminal(arguments: list[str], what: str) -> None:
    ours, theirs = pty.openpty()
    os.write(ours, b"\x04")
    done = subprocess.run(
        [sys.executable, "-m", "kpolicy", *arguments],
        stdin=theirs,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.stderr.startswith(f"reading {what} from the terminal; ctrl-D ends it\n")
    assert done.returncode in (0, 1, 2)


ESCAPE = "\x1b]0;owned\x07"
EVIL = {
    "raw.yaml": f"kind: SchedulingPolicy\nmetadata: {{name: {ESCAPE}}}\n",
    "escaped.yaml": 'apiVersion: kpolicy.dev/v1alpha1\nkind: "Sched\\e]0;owned\\aulingPolicy"\n',
    "names.test.yaml": (
        "apiVersion: kpolicy.dev/v1alpha1\nkind: PolicyTest\nmetadata: {name: a}\n"
        "nodes: [{name: n}]\ntests:\n"
        '  - {name: "\\e]0;owned\\a", pod: {}, expect: {message: "\\e]0;owned\\a"}}\n'
    ),
    "pods.json": json.dumps(
        {
            "kind": "Pod",
            "apiVersion": "v1",
            "metadata": {"name": ESCAPE, "namespace": "default", "uid": "u"},
            "spec": {"containers": [{"name": "a"}]},
        }
    ),
}


@pytest.mark.parametrize(
    "arguments",
    [
        ["lint", "raw.yaml"],
        ["lint", "raw.yaml", "-o", "concise"],
        ["lint", "escaped.yaml"],
        ["lint", "escaped.yaml", "-o", "concise"],
        ["hash", "escaped.yaml"],
        ["test", "names.test.yaml"],
        ["explain", "-s", "pods.json", "--every-pod"],
        ["simulate", "-s", "pods.json", "--every-pod"],
    ],
    ids=" ".join,
)
def test_control_characters_of_files_are_shown_as_escapes(
    arguments: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, text in EVIL.items():
        (tmp_path / name).write_text(text)
    assert cli.main(arguments) in (0, 1)
    captured = capsys.readouterr()
    shown = captured.out + captured.err
    assert re.findall("[\x00-\x08\x0b-\x1f\x7f]", shown) == []
    assert "\\x1b" in shown or "U+001B" in shown


def test_ctrl_c_ends_with_130_at_any_time() -> None:
    """From the first module that is loaded to the last line that is printed."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "python")}
    interrupted = 0
    for delay_ms in range(30, 400, 40):
        process = subprocess.Popen(
            [sys.executable, "-c", STARTED, "lint", "-"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment,
        )
        assert process.stdout is not None
        assert process.stdout.readline() == "started\n"
        time.sleep(delay_ms / 1000)
        process.send_signal(signal.SIGINT)
        _, error = process.communicate(timeout=30)
        assert "Traceback" not in error
        assert process.returncode == 130, (delay_ms, error)
        interrupted += 1
    assert interrupted == 10


# Says when the handler is there: what comes before is Python itself. A test run in the background
# ignores SIGINT, and so would its children.
STARTED = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
from kpolicy import __main__ as process
real = signal.signal
def announced(number, handler):
    old = real(number, handler)
    if handler is process._end_now:
        print("started", flush=True)
        signal.signal = real
    return old
signal.signal = announced
sys.exit(process.main())
"""
