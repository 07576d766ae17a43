"""The verbs that read and print documents: `fmt`, `convert`, `hash` and `schema`."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path
from typing import Final

from kpolicy.cli.findings_text import Findings, full, print_findings
from kpolicy.cli.input_output import (
    all_sources,
    difference,
    policy_sources,
    write_errors,
)
from kpolicy.cli.schemas import SCHEMA_KINDS, schema_of
from kpolicy.cli.verb import (
    FINDINGS,
    FINE,
    FOLLOWED,
    PARAM,
    PATHS,
    RELEASE,
    CannotWorkError,
    PolicyErrorsError,
    Verb,
    argument,
)

_FMT_EPILOG: Final = """\
The usual form has keys in a fixed order, two spaces of indentation and no two blank lines in a row.
Comments, block scalars and lists in [ ] stay as they are. A file is written only if its values, its
comments and the compiled program stay the same. In a ConfigMap, only policies in blocks (|) are
formatted. Documents in { }, such as JSON, and files of other kinds are left as they are. Without an
argument, stdin is read.

exit: 0 fine, 1 files would change (--check, --diff) or cannot be formatted, 2 could not work
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
            print(difference(old, made.text, name, f"{name} (formatted)"), end="")
        elif args.check:
            print(f"{name}\n" * is_changed, end="")
        elif path == "-":
            sys.stdout.write(made.text)
        elif is_changed:
            _replace(Path(name), made.text)
            print(f"formatted {name}", file=sys.stderr)
    if args.paths != ["-"] or args.check:
        parts = [f"{changed} {'would change' if is_shown else 'formatted'}"]
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
    "Format policy files; with -, format stdin and print it.",
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
Reads scheduler.json and policy.cfg (kind Policy), ConfigMaps that contain one, and
KubeSchedulerConfiguration. The printed policy decides as the file does: both are compiled, and the
policy is printed only if their programs are equal. Where releases of kube-scheduler differ, a
comment says which meaning was chosen.

With --to kube-scheduler, reads policies of any kind and prints a KubeSchedulerConfiguration with
their built-ins, weights, arguments, preemption and extenders. Each rule that kube-scheduler cannot
have is named (KP608) and left out; the rest is read again and must decide the same.

With --to cluster-autoscaler, prints what the --scheduler-config-file of cluster-autoscaler reads:
the predicates that are built-ins, of one profile, so that it simulates the same filters. What it
cannot have is named too.

With --to admission-policy, prints MutatingAdmissionPolicies with their bindings, one for each rule
that reads only fields of pods and labels of nodes. They give each new pod the rule as node
affinity, where autoscalers and Kueue see it. What affinity cannot say exactly is named too.

exit: 0 converted, 1 the file has errors, or a rule was left out, 2 could not work
"""


def _convert(args: argparse.Namespace) -> int:
    from kpolicy.policy.format.admission_policy import write_admission_policies
    from kpolicy.policy.format.cluster_autoscaler import write_simulation
    from kpolicy.policy.format.conversion import convert_policy
    from kpolicy.policy.format.kube_scheduler import write_configuration

    sources = all_sources(args.paths)
    if args.templates and args.to != "admission-policy":
        raise CannotWorkError("--templates goes with --to admission-policy")
    if args.to == "kube-scheduler":
        converted = write_configuration(sources, release=args.release, params=dict(args.param))
    elif args.to == "cluster-autoscaler":
        converted = write_simulation(sources, release=args.release, params=dict(args.param))
    elif args.to == "admission-policy":
        converted = write_admission_policies(
            sources,
            release=args.release,
            params=dict(args.param),
            templates=args.templates,
        )
    elif args.param:
        raise CannotWorkError("--to kpolicy takes no --param; a policy keeps its params")
    else:
        converted = convert_policy(sources, release=args.release)
    if converted.diagnostics:
        print_findings(converted.diagnostics, sources)
    sys.stdout.write(converted.text or "")
    is_whole = all(finding.code != "KP608" for finding in converted.diagnostics)
    return FINE if converted.text is not None and is_whole else FINDINGS


CONVERT: Final = Verb(
    "convert",
    "Print a legacy policy or a kube-scheduler configuration as a SchedulingPolicy that decides "
    "the same, or a policy for kube-scheduler, cluster-autoscaler or admission.",
    _convert,
    (
        PATHS,
        argument(
            "--to",
            choices=("kpolicy", "kube-scheduler", "cluster-autoscaler", "admission-policy"),
            default="kpolicy",
            help="what to print (default: %(default)s)",
        ),
        argument(
            "--templates",
            action="store_true",
            help="with --to admission-policy: also for the pod templates of Jobs and DaemonSets",
        ),
        RELEASE,
        PARAM,
    ),
    _CONVERT_EPILOG,
)


_HASH_EPILOG: Final = """\
The hash identifies the compiled policy: the path of a file, its comments and its layout do not
change it. A bound pod has the hash in its annotation kpolicy.dev/policy-hash. To get the hash of a
`kpolicy run`, give the files of its --policy flags in the same order, and the same --param,
--release and --feature-gates. The files of a folder and the keys of a ConfigMap are read in the
order of their names. Without an argument, stdin is read.

exit: 0 printed, 1 the policy has errors, 2 could not work
"""


def _hash(args: argparse.Namespace) -> int:
    from kpolicy.policy.compile import compile_policy

    sources = all_sources(args.paths)
    compiled = compile_policy(
        sources,
        params=dict(args.param),
        release=args.release,
        feature_gates=args.feature_gates,
    )
    if compiled.program is None:
        print_findings(compiled.diagnostics, sources)
        raise PolicyErrorsError
    print(compiled.program.hash)
    return 0


HASH: Final = Verb(
    "hash",
    "Print the hash of a policy, which is in bound pods, logs and metrics.",
    _hash,
    (PATHS, PARAM, *FOLLOWED),
    _HASH_EPILOG,
)


def _schema(args: argparse.Namespace) -> int:
    sys.stdout.write(json.dumps(schema_of(args.kind), indent=2) + "\n")
    return FINE


SCHEMA: Final = Verb(
    "schema",
    "Print the JSON Schema of a document, for editors and CI.",
    _schema,
    (
        argument(
            "--kind",
            choices=SCHEMA_KINDS,
            default=SCHEMA_KINDS[0],
            help=f"default: {SCHEMA_KINDS[0]}; Settings is kpolicy.toml, Output what --output json "
            "prints",
        ),
    ),
)
