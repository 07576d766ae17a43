"""`kpolicy hash`: prints the hash by which bound pods, logs and metrics name a policy."""

from __future__ import annotations

import argparse
from typing import Final

from kpolicy.cli.findings_text import print_findings
from kpolicy.cli.flags import PARAM, PATHS
from kpolicy.cli.inputs import all_sources
from kpolicy.cli.verb import PolicyErrorsError, Verb

_EPILOG: Final = """\
The hash is of what a policy decides, not of its text: where a file lies, its comments and its
layout do not count. A bound pod says in its annotation kpolicy.dev/policy-hash which policy it was
bound by. All arguments are read together and in their order, as `kpolicy run` reads its --policy
flags; a folder, or the keys of a ConfigMap, in the order of names. Give the --param of that run
too. With no argument, stdin is read.

exit: 0 printed, 1 the policy has errors, 2 could not work
"""


def _main(args: argparse.Namespace) -> int:
    from kpolicy.policy.compile import compile_policy

    sources = all_sources(args.paths)
    compiled = compile_policy(sources, params=dict(args.param))
    if compiled.program is None:
        print_findings(compiled.diagnostics, sources)
        raise PolicyErrorsError
    print(compiled.program.hash)
    return 0


VERB: Final = Verb(
    "hash",
    "Print the hash by which bound pods, logs and metrics name a policy.",
    _main,
    (PATHS, PARAM),
    _EPILOG,
)
