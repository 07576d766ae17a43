"""`kpolicy fmt`: policy files in the usual form.

Owns the verb's flags, reading and writing files, and its exit code. The laying out is that of
`kpolicy.policy.format.reformat`.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from difflib import unified_diff
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from kpolicy.cli.verb import CannotWorkError

if TYPE_CHECKING:
    from kpolicy.policy.yaml.source import Source

_EPILOG: Final = """\
Keys in order, two spaces, one blank line at most; comments, block scalars and lists in [ ] stay as
they are. A file is written only if its values, its comments and the program it compiles to are the
same as before. Of a ConfigMap, only the policies that it carries in blocks (|) are laid out.
Documents in { }, such as JSON, are left as they are, as are files of other kinds. With no argument,
stdin is read.

exit: 0 fine, 1 files would change (--check, --diff) or cannot be laid out, 2 could not work
"""


def add_parser(subparsers: Any) -> None:  # argparse has no public name for this type
    parser: argparse.ArgumentParser = subparsers.add_parser(
        "fmt",
        help="write policies in the usual form",
        description="Write policy files in the usual form; with - from stdin to stdout.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("paths", nargs="*", metavar="FILE|DIR|-", default=["-"])
    shown = parser.add_mutually_exclusive_group()
    shown.add_argument(
        "--check", action="store_true", help="write nothing; list the files that would change"
    )
    shown.add_argument("--diff", action="store_true", help="write nothing; show what would change")


def main(args: argparse.Namespace) -> int:
    from kpolicy.cli.findings_text import Findings, full
    from kpolicy.cli.inputs import policy_sources
    from kpolicy.policy.format.reformat import reformat

    changed = broken = 0
    sources = [(path, source) for path in args.paths for source in policy_sources(path)]
    for path, source in sources:
        made = reformat(source)
        old = (
            source.text if isinstance(source.text, str) else source.text.decode("utf-8", "replace")
        )
        if made.text is None:
            broken += 1
            print(full(Findings.of(made.diagnostics, [source])), end="", file=sys.stderr)
            continue
        for note in made.diagnostics:
            at = f"{note.place.file}:{note.place.line}: " if note.place is not None else ""
            print(f"{at}{note.message}; {note.hint}", file=sys.stderr)
        is_changed = made.text != old
        changed += is_changed
        if args.check or args.diff:
            _show(source.name, old, made.text, is_diff=args.diff)
        elif path == "-":
            sys.stdout.write(made.text)
        elif is_changed:
            _write(Path(source.name), made.text)
            print(f"laid out {source.name}", file=sys.stderr)
    _sum_up(args, [source for _, source in sources], changed, broken)
    return 1 if broken or (changed and (args.check or args.diff)) else 0


def _show(name: str, old: str, new: str, *, is_diff: bool) -> None:
    if old == new:
        return
    if not is_diff:
        print(name)
        return
    lines = unified_diff(
        old.splitlines(keepends=True), new.splitlines(keepends=True), name, f"{name} (laid out)"
    )
    for line in lines:
        print(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n", end="")


def _sum_up(args: argparse.Namespace, sources: list[Source], changed: int, broken: int) -> None:
    if args.paths == ["-"] and not args.check:
        return
    verb = "would change" if args.check or args.diff else "laid out"
    kept = len(sources) - changed - broken
    parts = [f"{changed} {verb}", f"{kept} unchanged", *([f"{broken} not read"] * (broken > 0))]
    print(f"{len(sources)} file{'s' * (len(sources) != 1)}: {', '.join(parts)}", file=sys.stderr)


def _write(path: Path, text: str) -> None:
    """In one step, so that nobody reads half of a file; links and rights stay."""
    target = path.resolve()
    try:
        mode = target.stat().st_mode
        with tempfile.NamedTemporaryFile(
            "w", encoding="utf-8", newline="", dir=target.parent, prefix=".kpolicy-", delete=False
        ) as file:
            file.write(text)
        Path(file.name).chmod(mode & 0o7777)
        Path(file.name).replace(target)
    except OSError as error:
        raise CannotWorkError(f"{path} cannot be written: {error.strerror}") from error
