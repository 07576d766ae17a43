"""`kpolicy completion`: a script that completes verbs, flags and their values in a shell.

Owns the verb's flags. The scripts are those of `kpolicy.cli.completion_scripts`.
"""

from __future__ import annotations

import argparse
import sys
from typing import Any, Final

_SHELLS: Final = ("bash", "zsh", "fish")
_EPILOG: Final = """\
bash:  source <(kpolicy completion bash)              (in ~/.bashrc)
zsh:   kpolicy completion zsh > "${fpath[1]}/_kpolicy"
fish:  kpolicy completion fish > ~/.config/fish/completions/kpolicy.fish
"""


def add_parser(subparsers: Any) -> None:  # argparse has no public name for this type
    parser: argparse.ArgumentParser = subparsers.add_parser(
        "completion",
        help="print completions for a shell",
        description="Print a script that completes verbs, flags and their values.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("shell", choices=_SHELLS)


def main(args: argparse.Namespace) -> int:
    from kpolicy.cli import completion_scripts
    from kpolicy.cli.command_tree import command_tree

    scripts = {
        "bash": completion_scripts.bash,
        "zsh": completion_scripts.zsh,
        "fish": completion_scripts.fish,
    }
    sys.stdout.write(scripts[args.shell](command_tree()))
    return 0
