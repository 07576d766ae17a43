"""`kpolicy convert`: a legacy policy or a kube-scheduler configuration as a SchedulingPolicy.

Owns the verb's flags and its exit code. The converting is that of `kpolicy.policy.format.convert`.
"""

from __future__ import annotations

import argparse
import sys
from typing import Any, Final

_EPILOG: Final = """\
Read are scheduler.json and policy.cfg (kind Policy), ConfigMaps that carry one, and
KubeSchedulerConfiguration. The policy that is printed decides as the file does: both are compiled,
and it is printed only if their programs agree. Comments say what was chosen where releases
disagree.

exit: 0 converted, 1 the file has errors, 2 could not work
"""


def add_parser(subparsers: Any) -> None:  # argparse has no public name for this type
    parser: argparse.ArgumentParser = subparsers.add_parser(
        "convert",
        help="print a kube-scheduler configuration as a policy",
        description="Print a legacy policy or a kube-scheduler configuration as a "
        "SchedulingPolicy that decides the same.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("paths", nargs="*", metavar="FILE|DIR|-", default=["-"])
    parser.add_argument(
        "--release", default="", metavar="1.N", help="read legacy files as this release did"
    )


def main(args: argparse.Namespace) -> int:
    from kpolicy.cli.findings_text import say_findings
    from kpolicy.cli.inputs import policy_sources
    from kpolicy.policy.format.convert import convert_policy

    sources = [source for path in args.paths for source in policy_sources(path)]
    converted = convert_policy(sources, release=args.release)
    if converted.diagnostics:
        say_findings(converted.diagnostics, sources)
    if converted.text is None:
        return 1
    sys.stdout.write(converted.text)
    return 0
