"""`kpolicy hash`: the hash by which bound pods, logs and metrics name a policy.

Owns the verb's flags and its exit code. What is hashed is the program's own matter.
"""

from __future__ import annotations

import argparse
from typing import Any, Final

from kpolicy.cli.flags import add_param_flag

_EPILOG: Final = """\
The hash is of what a policy decides, not of its text: where a file lies, its comments and its
layout do not count. A bound pod says in its annotation kpolicy.dev/policy-hash which policy it was
bound by. All arguments are read together and in their order, as `kpolicy run` reads its --policy
flags; a folder, or the keys of a ConfigMap, in the order of names. Give the --param of that run
too. With no argument, stdin is read.

exit: 0 printed, 1 the policy has errors, 2 could not work
"""


def add_parser(subparsers: Any) -> None:  # argparse has no public name for this type
    parser: argparse.ArgumentParser = subparsers.add_parser(
        "hash",
        help="print the hash that bound pods carry of a policy",
        description="Print the hash by which bound pods, logs and metrics name a policy.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("paths", nargs="*", metavar="FILE|DIR|-", default=["-"])
    add_param_flag(parser)


def main(args: argparse.Namespace) -> int:
    from kpolicy.cli.findings_text import say_findings
    from kpolicy.cli.inputs import policy_sources
    from kpolicy.policy.compile import compile_policy

    sources = [source for path in args.paths for source in policy_sources(path)]
    compiled = compile_policy(sources, params=dict(args.param))
    if compiled.program is None:
        say_findings(compiled.diagnostics, sources)
        return 1
    print(compiled.program.hash)
    return 0
