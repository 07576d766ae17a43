"""The pipeline: sources in, a program or none and diagnostics out.

Owns the order of the stages and what every stage's findings add up to. Assumes nothing of the
sources: arbitrary bytes never raise (B5). Must not know I/O, the cluster nor the engine (B4).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, Final

from kpolicy.diagnostics import Diagnostic, Note, has_errors
from kpolicy.policy.assembly.assemble import assemble
from kpolicy.policy.assembly.cycle_cost import never_evaluated
from kpolicy.policy.assembly.expressions import ExpressionSets
from kpolicy.policy.assembly.params import ParamValues, uncalled
from kpolicy.policy.assembly.policy_checks import check_policies
from kpolicy.policy.assembly.program import Program, encode
from kpolicy.policy.assembly.read_policy import Policy, WrittenRules, read_policies, written_rules
from kpolicy.policy.assembly.resolve import Resolution, Served, effective, lineages, resolve
from kpolicy.policy.codes.registry import remark
from kpolicy.policy.document_kinds import find_documents
from kpolicy.policy.library import DEFAULT, extended_policies, offered, shipped_source
from kpolicy.policy.limits import DIAGNOSTICS_MAX, PROGRAM_NODES_MAX
from kpolicy.policy.lint import check_rules
from kpolicy.policy.suppress import without_suppressed
from kpolicy.policy.yaml.source import Source, SourceText

# Of a profile in a program for offline verbs: every pending pod is served.
EVERY_POD: Final = "*"


@dataclass(frozen=True, slots=True)
class Compiled:
    """A program, unless there are errors; diagnostics in the order of files and lines."""

    program: Program | None
    diagnostics: tuple[Diagnostic, ...]


def compile_policy(
    sources: Sequence[Source | str] | Source | str = (),
    *,
    every_pod: bool = False,
    params: Mapping[str, Any] | None = None,
    release: str = "",
    library: Sequence[Source] = (),
) -> Compiled:
    """Compile all policies of `sources` to one program.

    No source at all means `kube-scheduler-default`. With `every_pod`, a program of a single profile
    serves every pending pod, whatever scheduler it names; `params` come before all other values of
    params, and ConfigMaps among the sources are those that `paramsFrom` may name;
    `release` pins the kube-scheduler release whose legacy meaning is wanted; `library` holds
    policies that may be extended by name, beside those that come with kpolicy.
    """
    return examine(
        sources, every_pod=every_pod, params=params, release=release, library=library
    ).compiled()


# What only a snapshot can tell; without one, a comment that silences it is not unused.
SNAPSHOT_CODES: Final = frozenset({"KP304", "KP312", "KP323", "KP504"})


@dataclass(frozen=True, slots=True)
class Examined:
    """What compiling found, before comments silence any of it: lint has more to say of it.

    `texts` are in the order of the sources."""

    program: Program | None
    said: tuple[Diagnostic, ...]
    texts: tuple[SourceText, ...]
    policies: tuple[Policy, ...]
    expressions: ExpressionSets
    resolution: Resolution

    def compiled(
        self, more: Iterable[Diagnostic] = (), not_looked_for: Collection[str] = SNAPSHOT_CODES
    ) -> Compiled:
        """With `more` findings about the same texts."""
        left = without_suppressed([*self.said, *more], self.texts, not_looked_for)
        diagnostics = _ordered(left)
        sound = None if has_errors(diagnostics) else self.program
        return Compiled(sound, diagnostics[:DIAGNOSTICS_MAX])


def examine(
    sources: Sequence[Source | str] | Source | str = (),
    *,
    every_pod: bool = False,
    params: Mapping[str, Any] | None = None,
    release: str = "",
    library: Sequence[Source] = (),
) -> Examined:
    """As `compile_policy`, which says what the arguments are."""
    listed = [sources] if isinstance(sources, (Source, str)) else sources
    named = [_named(source, index) for index, source in enumerate(listed)]
    if not named:
        named = [shipped_source(DEFAULT)]
    found = find_documents(named, release)
    read = read_policies(found.documents)
    said = [*found.diagnostics, *read.diagnostics]
    distinct, said_names = _distinct(read.policies)
    values = ParamValues(params or {}, found.config_maps)
    others = extended_policies(distinct, library)
    work = _Work(distinct, others, values)
    said += [*said_names, *work.diagnostics, *uncalled(found.config_maps, distinct)]
    if params:
        said += values.unknown([*distinct, *others.values(), *offered(library).values()])
    if not distinct and not has_errors(tuple(said)):
        said.append(remark("KP101", f"there is no policy in {named[0].name}"))
    profiles = dict(work.resolution.profiles)
    if every_pod and len(profiles) == 1:
        profiles = {EVERY_POD: next(iter(profiles.values()))}
    program, said_program = work.program(profiles)
    return Examined(
        program,
        (*said, *said_program),
        found.texts,
        tuple(distinct),
        work.expressions,
        work.resolution,
    )


def _named(source: Source | str, index: int) -> Source:
    return source if isinstance(source, Source) else Source(f"policy-{index + 1}.yaml", source)


def _ordered(diagnostics: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
    """By file and line, each once; a warning where there is an error at the same place goes."""
    # Two rules may share the arguments that are wrong: that is one finding.
    distinct = {(one.code, one.place, one.message): one for one in reversed(list(diagnostics))}
    erring = {one.place for one in distinct.values() if has_errors((one,))}
    kept = [one for one in distinct.values() if has_errors((one,)) or one.place not in erring]
    kept.sort(key=_position)
    return tuple(kept)


def _position(one: Diagnostic) -> tuple[str, int, int, str]:
    if one.place is None:
        return "", 0, 0, one.code
    return one.place.file, one.place.line, one.place.column, one.code


def _distinct(policies: Iterable[Policy]) -> tuple[list[Policy], list[Diagnostic]]:
    """Policies are extended and cited by name, so names must be distinct."""
    by_name: dict[str, Policy] = {}
    said: list[Diagnostic] = []
    for policy in policies:
        first = by_name.setdefault(policy.name, policy)
        if first is not policy:
            note = Note("first here", place=first.place(("metadata", "name")))
            said.append(
                policy.remark(
                    "KP104",
                    f"two policies are called `{policy.name}`",
                    ("metadata", "name"),
                    notes=(note,),
                )
            )
    return list(by_name.values()), said


def _nodes(entry: Mapping[str, Any]) -> int:
    """Of all expressions of a profile."""
    rules = [*entry["filters"], *entry["scores"]]
    listed = chain.from_iterable(
        (rule.get("expression"), rule.get("messageExpression"), *rule.get("match", ()))
        for rule in rules
    )
    return sum(len(ir["nodes"]) for ir in listed if ir is not None)


class _Work:
    """The stages after reading, each over all policies."""

    def __init__(
        self, policies: list[Policy], library: dict[str, Policy], params: ParamValues
    ) -> None:
        self.diagnostics: list[Diagnostic] = []
        everyone = [*policies, *library.values()]
        self._rules: dict[str, WrittenRules] = {}
        for policy in everyone:
            self._rules[policy.name] = written_rules(policy)
            self.diagnostics += self._rules[policy.name].diagnostics
        lines, said = lineages(everyone, library)
        self.diagnostics += said
        self.expressions = ExpressionSets(lines, params)
        self.diagnostics += self.expressions.diagnostics
        effectives = [effective(lines[policy.name], self._rules) for policy in policies]
        self.resolution: Resolution = resolve(effectives)
        self.diagnostics += self.resolution.diagnostics
        self.diagnostics += check_policies(policies, self.resolution)
        self.diagnostics += never_evaluated(policies, self.expressions.own)
        self.diagnostics += check_rules(policies, self.expressions.own, self.resolution)
        self._policies = policies
        self._everyone = everyone

    def program(
        self, profiles: Mapping[str, tuple[Served, ...]]
    ) -> tuple[Program | None, list[Diagnostic]]:
        said: list[Diagnostic] = []
        names = [policy.name for policy in self._everyone]
        assembled = [
            assemble(scheduler_name, served, names, self.expressions)
            for scheduler_name, served in profiles.items()
        ]
        for one in assembled:
            said += one.diagnostics
        tie_break, said_ties = self._tie_break()
        said += said_ties
        if not assembled:
            return None, said
        entries = [one.entry for one in assembled]
        nodes = sum(map(_nodes, entries))
        if nodes > PROGRAM_NODES_MAX:
            message = (
                f"the expressions of all profiles have {nodes:,} nodes, at most "
                f"{PROGRAM_NODES_MAX:,} are allowed"
            )
            hint = "each profile has all its rules: fewer profiles, or smaller rules"
            first = self._policies[0]
            said.append(first.remark("KP112", message, ("spec", "profiles"), hint=hint))
            return None, said
        extenders = [one.extenders for one in assembled]
        limits = [policy.model.spec.limits for policy in self._everyone]
        return encode(names, tie_break, entries, extenders, limits), said

    def _tie_break(self) -> tuple[str, list[Diagnostic]]:
        """One for the whole program: the engine has one source of chance."""
        chosen: tuple[str, str] | None = None
        said: list[Diagnostic] = []
        for policy in self._policies:
            asked = policy.model.spec.tie_break
            if asked is not None and chosen is not None and asked != chosen[0]:
                said.append(
                    policy.remark(
                        "KP116", f"`{chosen[1]}` breaks ties by `{chosen[0]}`", ("spec", "tieBreak")
                    )
                )
            elif asked is not None:
                chosen = asked, policy.name
        return (chosen[0] if chosen else "random"), said
