"""The verbs that read and print documents: `fmt`, `convert`, `hash`, `schema` and `rule`."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Final

from kpolicy.cli.findings_text import Findings, full, print_findings
from kpolicy.cli.inputs import all_sources, policy_sources
from kpolicy.cli.outputs import difference, write_errors
from kpolicy.cli.verb import (
    FINDINGS,
    FINE,
    PARAM,
    PATHS,
    RELEASE,
    CannotWorkError,
    PolicyErrorsError,
    Verb,
    argument,
)

if TYPE_CHECKING:
    from kpolicy.policy.codes import Page

_FMT_EPILOG: Final = """\
Keys in order, two spaces, one blank line at most; comments, block scalars and lists in [ ] stay as
they are. A file is written only if its values, its comments and the program it compiles to are the
same as before. Of a ConfigMap, only the policies that it carries in blocks (|) are laid out.
Documents in { }, such as JSON, are left as they are, as are files of other kinds. With no argument,
stdin is read.

exit: 0 fine, 1 files would change (--check, --diff) or cannot be laid out, 2 could not work
"""


def _fmt(args: argparse.Namespace) -> int:
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


FMT: Final = Verb(
    "fmt",
    "Write policy files in the usual form; with - from stdin to stdout.",
    _fmt,
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
    _FMT_EPILOG,
)


_CONVERT_EPILOG: Final = """\
Read are scheduler.json and policy.cfg (kind Policy), ConfigMaps that carry one, and
KubeSchedulerConfiguration. The policy that is printed decides as the file does: both are compiled,
and it is printed only if their programs agree. Comments say what was chosen where releases
disagree.

exit: 0 converted, 1 the file has errors, 2 could not work
"""


def _convert(args: argparse.Namespace) -> int:
    from kpolicy.policy.format.conversion import convert_policy

    sources = all_sources(args.paths)
    converted = convert_policy(sources, release=args.release)
    if converted.diagnostics:
        print_findings(converted.diagnostics, sources)
    sys.stdout.write(converted.text or "")
    return FINDINGS if converted.text is None else FINE


CONVERT: Final = Verb(
    "convert",
    "Print a legacy policy or a kube-scheduler configuration as a SchedulingPolicy that decides "
    "the same.",
    _convert,
    (PATHS, RELEASE),
    _CONVERT_EPILOG,
)


_HASH_EPILOG: Final = """\
The hash is of what a policy decides, not of its text: where a file lies, its comments and its
layout do not count. A bound pod says in its annotation kpolicy.dev/policy-hash which policy it was
bound by. All arguments are read together and in their order, as `kpolicy run` reads its --policy
flags; a folder, or the keys of a ConfigMap, in the order of names. Give the --param of that run
too. With no argument, stdin is read.

exit: 0 printed, 1 the policy has errors, 2 could not work
"""


def _hash(args: argparse.Namespace) -> int:
    from kpolicy.policy.compile import compile_policy

    sources = all_sources(args.paths)
    compiled = compile_policy(sources, params=dict(args.param))
    if compiled.program is None:
        print_findings(compiled.diagnostics, sources)
        raise PolicyErrorsError
    print(compiled.program.hash)
    return 0


HASH: Final = Verb(
    "hash",
    "Print the hash by which bound pods, logs and metrics name a policy.",
    _hash,
    (PATHS, PARAM),
    _HASH_EPILOG,
)


_KINDS: Final = (
    "SchedulingPolicy",
    "PolicyTest",
    "SchedulerConfiguration",
    "KubeSchedulerConfiguration",
)


def _schema(args: argparse.Namespace) -> int:
    from kpolicy.offline.policy_tests.document_model import PolicyTest
    from kpolicy.policy.legacy.kubescheduler_versions import Configuration
    from kpolicy.policy.models.scheduling_policy import SchedulingPolicy
    from kpolicy.scheduler.options import SchedulerConfiguration

    models = (SchedulingPolicy, PolicyTest, SchedulerConfiguration, Configuration)
    model = models[_KINDS.index(args.kind)]
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"https://kpolicy.dev/schema/v1alpha1/{args.kind.lower()}.json",
        **model.model_json_schema(by_alias=True),
    }
    sys.stdout.write(json.dumps(schema, indent=2) + "\n")
    return 0


SCHEMA: Final = Verb(
    "schema",
    "Print the JSON Schema of a document, for editors and CI.",
    _schema,
    (argument("--kind", choices=_KINDS, default=_KINDS[0], help=f"default: {_KINDS[0]}"),),
)


def _rule(args: argparse.Namespace) -> int:
    from kpolicy.policy.codes.registry import pages, runtime_pages

    known = {**pages(), **runtime_pages()}
    chosen = list(known.values()) if args.all else [_page(args.code, known)]
    if args.output == "json":
        documents = [_document(page) for page in chosen]
        text = json.dumps(documents if args.all else documents[0], indent=2)
    else:
        lay_out = _markdown if args.output == "markdown" else _text
        text = "\n".join(map(lay_out, chosen))
    sys.stdout.write(text.rstrip("\n") + "\n")
    return 0


def _page(code: str | None, known: dict[str, Page]) -> Page:
    from kpolicy.policy.codes import FAMILIES
    from kpolicy.policy.nearest import did_you_mean

    if code is None:
        raise CannotWorkError("which code? `kpolicy rule KP204`, or `kpolicy rule --all`")
    page = known.get(code.upper())
    if page is None:
        families = ", ".join(f"{prefix}xx {what}" for prefix, what in FAMILIES.items())
        hint = did_you_mean(code.upper(), known) or f"codes are {families}"
        raise CannotWorkError(f"there is no code `{code}`; {hint}")
    return page


def _document(page: Page) -> dict[str, str]:
    return {
        "code": page.code,
        "level": page.severity.value,
        "title": page.title,
        "why": page.why,
        "bad": page.bad,
        "good": page.good,
    }


def _text(page: Page) -> str:
    bad, good = textwrap.indent(page.bad, "    "), textwrap.indent(page.good, "    ")
    return (
        f"{page.code} ({page.severity.value}): {page.title}\n\n{textwrap.fill(page.why, 80)}\n\n"
        f"bad:\n{bad}\n\ngood:\n{good}\n"
    )


def _markdown(page: Page) -> str:
    return (
        f"## {page.code}: {page.title}\n\nLevel: {page.severity.value}\n\n{page.why}\n\n"
        f"Bad:\n\n```yaml\n{page.bad}\n```\n\nGood:\n\n```yaml\n{page.good}\n```\n"
    )


RULE: Final = Verb(
    "rule",
    "Explain a code of a finding: what it means, why it matters, bad and good.",
    _rule,
    (
        argument("code", nargs="?", metavar="CODE", help="for example KP204"),
        argument("--all", action="store_true", help="all codes"),
        argument(
            "--output",
            "-o",
            choices=("text", "markdown", "json"),
            default="text",
            help="default: text",
        ),
    ),
)
