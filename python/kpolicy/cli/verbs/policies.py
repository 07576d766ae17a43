"""`kpolicy policies`: lists the policies that come with kpolicy."""

from __future__ import annotations

import argparse
import re
import sys
import textwrap
from typing import Final

from kpolicy.cli.input_output import text_width, write_document, write_lines
from kpolicy.cli.verb import FINE, OUTPUT, CannotWorkError, Verb, argument
from kpolicy.diagnostics import did_you_mean

_EPILOG: Final = """\
Wherever a command takes a policy, it takes one of these names: `kpolicy lint gpu-pools`,
`--policy gpu-pools`, `base: gpu-pools`. With a name, the text of the policy is printed.

exit: 0 listed, 2 could not work
"""


def _main(args: argparse.Namespace) -> int:
    from kpolicy.policy.compile import shipped_names, shipped_source

    if args.name in shipped_names():
        sys.stdout.write(shipped_source(args.name).decoded)
        return FINE
    if args.name:
        hint = did_you_mean(args.name, shipped_names()) or "`kpolicy policies` lists them"
        raise CannotWorkError(f"no policy `{args.name}` comes with kpolicy; {hint}")
    about = {name: _about(shipped_source(name).decoded) for name in shipped_names()}
    listed = [{"name": name, "about": text} for name, text in about.items()]
    if args.output == "json":
        write_document("policies", {"policies": listed})
        return FINE
    if args.output == "jsonl":
        write_lines(listed)
        return FINE
    width = max(map(len, about))
    for name, text in about.items():
        lines = textwrap.wrap(text, max(30, text_width() - width - 2)) or [""]
        print(f"{name:<{width}}  {lines[0]}")
        for line in lines[1:]:
            print(f"{'':<{width}}  {line}")
    return FINE


def _about(text: str) -> str:
    """The first sentence of the comment at the head of the policy, or the names of its rules."""
    head = []
    for line in text.splitlines():
        if not line.startswith("#"):
            break
        if "yaml-language-server" not in line:
            head.append(line.lstrip("# "))
    if not head:
        return "rules: " + ", ".join(re.findall(r"- name: (\S+)", text))
    return " ".join(head).partition(". ")[0].removesuffix(".")


POLICIES: Final = Verb(
    "policies",
    "List the policies that come with kpolicy, or print one.",
    _main,
    (
        argument("name", nargs="?", default="", metavar="NAME", help="print this policy"),
        OUTPUT,
    ),
    _EPILOG,
)
