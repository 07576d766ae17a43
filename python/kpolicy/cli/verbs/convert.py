"""`kpolicy convert`: prints a legacy policy or a kube-scheduler configuration as a policy."""

from __future__ import annotations

import argparse
import sys
from typing import Final

from kpolicy.cli.findings_text import print_findings
from kpolicy.cli.flags import PATHS, RELEASE
from kpolicy.cli.inputs import all_sources
from kpolicy.cli.verb import FINDINGS, FINE, Verb

_EPILOG: Final = """\
Read are scheduler.json and policy.cfg (kind Policy), ConfigMaps that carry one, and
KubeSchedulerConfiguration. The policy that is printed decides as the file does: both are compiled,
and it is printed only if their programs agree. Comments say what was chosen where releases
disagree.

exit: 0 converted, 1 the file has errors, 2 could not work
"""


def _main(args: argparse.Namespace) -> int:
    from kpolicy.policy.format.conversion import convert_policy

    sources = all_sources(args.paths)
    converted = convert_policy(sources, release=args.release)
    if converted.diagnostics:
        print_findings(converted.diagnostics, sources)
    sys.stdout.write(converted.text or "")
    return FINDINGS if converted.text is None else FINE


VERB: Final = Verb(
    "convert",
    "Print a legacy policy or a kube-scheduler configuration as a SchedulingPolicy that decides "
    "the same.",
    _main,
    (PATHS, RELEASE),
    _EPILOG,
)
