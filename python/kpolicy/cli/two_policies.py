"""The two policies that `diff` and `plan` compare: how they are named, and their programs."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Final

from kpolicy.cli.input_output import all_sources, load_program
from kpolicy.cli.verb import CannotWorkError, PolicyErrorsError, argument, repeatable
from kpolicy.quick_dataclass import dataclass

if TYPE_CHECKING:
    from kpolicy.policy.assembly.assemble import Program


def _names(written: str) -> tuple[str, str]:
    first, _, second = written.partition("=")
    if not first or not second or first == second:
        raise argparse.ArgumentTypeError("write NAME=NAME, two schedulerNames")
    return first, second


_POLICY: Final = "a policy, a folder of them, or the name of one that comes with kpolicy"
OLD_AND_NEW: Final = (
    argument("old", metavar="OLD", nargs="?", help=_POLICY),
    argument("new", metavar="NEW", nargs="?", help=_POLICY),
)
NAMES_MATCHED: Final = repeatable(
    "--map",
    metavar="NAME=NAME",
    type=_names,
    help="two schedulerNames that are one: a policy that serves pods of one also serves those of "
    "the other; repeatable",
)
# What a policy is called where none is named.
_NO_POLICY: Final = "kube-scheduler-default"


@dataclass(frozen=True, slots=True)
class _Side:
    """What is compared; without a policy, what kube-scheduler does."""

    policy: str | None
    beside: str | None
    release: str

    @property
    def title(self) -> str:
        return self.policy if self.policy is not None else _NO_POLICY


@dataclass(frozen=True, slots=True)
class TwoPolicies:
    """Two policies, or one policy (or none) in two releases."""

    args: argparse.Namespace
    old: _Side
    new: _Side

    @classmethod
    def of(cls, args: argparse.Namespace) -> TwoPolicies:
        releases = args.release or [""]
        if len(releases) > 2:
            raise CannotWorkError(
                "--release is there for the old and for the new decision: twice at most"
            )
        if args.new is None and len(releases) < 2:
            raise CannotWorkError(
                "name two policies, or two releases (--release 1.36 --release 1.37)"
            )
        new = args.old if args.new is None else args.new
        sides = _Side(args.old, new, releases[0]), _Side(new, args.old, releases[-1])
        return cls(args, *sides)

    @property
    def titles(self) -> tuple[str, str]:
        """What the user called them; of one policy in two releases, with the release."""
        if self.old.policy != self.new.policy:
            return self.old.title, self.new.title
        first, second = (f"{side.title} {side.release}".strip() for side in (self.old, self.new))
        return first, second

    def programs(self, cluster_version: str) -> tuple[Program, Program]:
        """Compiled for a cluster of this version, with the names that `--map` matches."""
        from kpolicy.offline.answers.matched_names import matched

        old, new = (self._program(side, cluster_version) for side in (self.old, self.new))
        if old is None or new is None:
            raise CannotWorkError("a policy with errors cannot be compared")
        self._check_names(old, new)
        return matched(old, self.args.map), matched(new, self.args.map)

    def _program(self, side: _Side, cluster_version: str) -> Program | None:
        beside = side.beside if side.beside != side.policy else None
        try:
            return load_program(
                self.args,
                all_sources([side.policy] if side.policy is not None else []),
                every_pod=self.args.every_pod,
                beside=all_sources([beside] if beside is not None else []),
                cluster_version=cluster_version,
                release=side.release,
            )
        except PolicyErrorsError:
            return None

    def _check_names(self, old: Program, new: Program) -> None:
        """A name of --map that no policy has is a mistake; names that differ deserve a word."""
        known = {*old.scheduler_names, *new.scheduler_names}
        for first, second in self.args.map:
            if not {first, second} & known:
                names = ", ".join(sorted(known))
                raise CannotWorkError(f"--map {first}={second}: the policies serve {names}")
        if not self.args.map and not {*old.scheduler_names} & {*new.scheduler_names}:
            first, second = old.scheduler_names[0], new.scheduler_names[0]
            print(
                f"note: the policies serve pods of different schedulers; `--map {first}={second}` "
                "compares what both decide about pods of either",
                file=sys.stderr,
            )
