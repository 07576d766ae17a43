"""`kpolicy fmt`: writes policy files in the usual form."""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path
from typing import Final

from kpolicy.cli.findings_text import Findings, full
from kpolicy.cli.flags import PATHS
from kpolicy.cli.inputs import policy_sources
from kpolicy.cli.outputs import difference, write_errors
from kpolicy.cli.verb import FINDINGS, FINE, Verb, argument

_EPILOG: Final = """\
Keys in order, two spaces, one blank line at most; comments, block scalars and lists in [ ] stay as
they are. A file is written only if its values, its comments and the program it compiles to are the
same as before. Of a ConfigMap, only the policies that it carries in blocks (|) are laid out.
Documents in { }, such as JSON, are left as they are, as are files of other kinds. With no argument,
stdin is read.

exit: 0 fine, 1 files would change (--check, --diff) or cannot be laid out, 2 could not work
"""


def _main(args: argparse.Namespace) -> int:
    from kpolicy.policy.format.reformat import reformat

    changed = broken = 0
    is_shown = args.check or args.diff
    sources = [(path, source) for path in args.paths for source in policy_sources(path)]
    for path, source in sources:
        made = reformat(source)
        if made.text is None:
            broken += 1
            print(full(Findings.of(made.diagnostics, [source])), end="", file=sys.stderr)
            continue
        for note in made.diagnostics:
            at = f"{note.place.file}:{note.place.line}: " if note.place is not None else ""
            print(f"{at}{note.message}; {note.hint}", file=sys.stderr)
        name, old = source.name, source.decoded
        is_changed = made.text != old
        changed += is_changed
        if args.diff:
            print(difference(old, made.text, name, f"{name} (laid out)"), end="")
        elif args.check:
            print(f"{name}\n" * is_changed, end="")
        elif path == "-":
            sys.stdout.write(made.text)
        elif is_changed:
            _replace(Path(name), made.text)
            print(f"laid out {name}", file=sys.stderr)
    if args.paths != ["-"] or args.check:
        parts = [f"{changed} {'would change' if is_shown else 'laid out'}"]
        parts += [f"{len(sources) - changed - broken} unchanged", f"{broken} not read"]
        files = f"{len(sources)} file{'s' * (len(sources) != 1)}"
        print(f"{files}: {', '.join(parts[: 2 + bool(broken)])}", file=sys.stderr)
    return FINDINGS if broken or (changed and is_shown) else FINE


def _replace(path: Path, text: str) -> None:
    """Replaces the file in one step, so that nobody reads half of it. Keeps links and rights."""
    target = path.resolve()
    with write_errors(path):
        mode = target.stat().st_mode
        with tempfile.NamedTemporaryFile(
            "w", encoding="utf-8", newline="", dir=target.parent, prefix=".kpolicy-", delete=False
        ) as file:
            file.write(text)
        Path(file.name).chmod(mode & 0o7777)
        Path(file.name).replace(target)


VERB: Final = Verb(
    "fmt",
    "Write policy files in the usual form; with - from stdin to stdout.",
    _main,
    (
        PATHS,
        argument(
            "--check",
            group="shown",
            action="store_true",
            help="write nothing; list the files that would change",
        ),
        argument(
            "--diff",
            group="shown",
            action="store_true",
            help="write nothing; show what would change",
        ),
    ),
    _EPILOG,
)
