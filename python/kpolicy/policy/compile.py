"""Compiles policies: texts in, a program (or none) and diagnostics out.

Any bytes may be the input: they give diagnostics and never an exception (B5). The comment
`# kpolicy: ignore[KP312] why` silences findings. A comment that silences nothing is a finding
itself. Errors are never silenced.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple, replace
from functools import cache
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from kpolicy.diagnostics import Diagnostic, Edit, Fix, Note, Span, has_errors
from kpolicy.policy.assembly.assemble import Program, assemble, encode
from kpolicy.policy.assembly.expressions import ExpressionSets
from kpolicy.policy.assembly.extender_checks import check_authority, check_extenders
from kpolicy.policy.assembly.helped_by import check_helped_by
from kpolicy.policy.assembly.params import ParamValues, uncalled
from kpolicy.policy.assembly.policy_checks import beyond, check_policies
from kpolicy.policy.assembly.queue_checks import check_queue
from kpolicy.policy.assembly.queue_entries import queue_entry
from kpolicy.policy.assembly.queue_periods import written_periods
from kpolicy.policy.assembly.read_policy import Policy, read_policies, written_rules
from kpolicy.policy.assembly.releases import Asked, Followed, followed
from kpolicy.policy.assembly.resolve import Resolution, effective, lineages, resolve
from kpolicy.policy.authority import UNLIMITED, Authority
from kpolicy.policy.codes.registry import remark
from kpolicy.policy.document_kinds import find_documents
from kpolicy.policy.limits import DIAGNOSTICS_MAX, EXPRESSION_NODES_MAX, PROGRAM_NODES_MAX
from kpolicy.policy.lint import check_rules
from kpolicy.policy.models.scheduling_policy import BASE_DEFAULT, Profile
from kpolicy.policy.yaml.source import Source, SourceText, named_sources, placed
from kpolicy.quick_dataclass import dataclass

if TYPE_CHECKING:
    from kpolicy.policy.tenants.outcome import TenantOutcome

_COMMENT: Final = re.compile(r"(?m)(?:^|(?<=\s))#[ \t]*kpolicy:[ \t]*ignore\[([^\]\n]*)\][^\r\n]*")
# A line that begins a block scalar: the comment on it also covers the lines of the block.
_BLOCK: Final = r"[|>][-+0-9]{0,3}[ \t]*(?:#.*)?$"
_CODE: Final = r"[A-Za-z0-9]+"
# The policies of the package. `importlib.resources` would load a dozen modules to find them.
_SHIPPED: Final = Path(__file__).parents[1] / "policies"


@dataclass(frozen=True, slots=True)
class _Suppression:
    """One code of a comment. `lines`: those that it covers; `rest`: the text to remove with it."""

    text: SourceText
    span: Span
    code: str
    lines: range
    rest: Span


def without_suppressed(
    diagnostics: Iterable[Diagnostic],
    texts: Iterable[SourceText],
    not_looked_for: Collection[str] = (),
) -> list[Diagnostic]:
    """The findings that no comment silences, and a finding for each unused code.

    A comment covers its own line, or the next line if it is alone on its line. If that line begins
    a block scalar, the block is covered too. Codes in `not_looked_for` are never unused.
    """
    suppressions = list(chain.from_iterable(map(_suppressions, texts)))
    by_place = {(s.text.name, line, s.code): s for s in suppressions for line in s.lines}
    used: set[_Suppression] = set()
    kept: list[Diagnostic] = []
    for diagnostic in diagnostics:
        place = None if diagnostic.is_error else diagnostic.place
        found = by_place.get((place.file, place.line, diagnostic.code)) if place else None
        if found is None:
            kept.append(diagnostic)
        else:
            used.add(found)
    kept += (
        _unused(suppression)
        for suppression in suppressions
        if suppression not in used and suppression.code not in not_looked_for
    )
    return kept


def _unused(suppression: _Suppression) -> Diagnostic:
    finding = remark(
        "KP190",
        f"nothing on this line is {suppression.code}",
        suppression.span,
        hint="remove it from the comment",
        fix=Fix((Edit(suppression.rest, ""),)),
    )
    return placed(suppression.text, finding)


def _suppressions(text: SourceText) -> Iterator[_Suppression]:
    for found in _COMMENT.finditer(text.text):
        line, column = text.line_and_column(found.start())
        is_alone = not text.line(line)[: column - 1].strip()
        lines = _lines(text, line + is_alone)
        codes = list(re.finditer(_CODE, found.group(1)))
        for index, code in enumerate(codes):
            span = Span(*code.span()).shifted(found.start(1))
            whole = _comment(text, found, is_alone=is_alone)
            rest = whole if len(codes) == 1 else _listed(codes, index).shifted(found.start(1))
            yield _Suppression(text, span, code.group(), lines, rest)


def _lines(text: SourceText, line: int) -> range:
    """The line, and the lines of the block scalar that begins on it."""
    last, end = len(text.line_starts), line + 1
    if line <= last and re.search(_BLOCK, text.line(line)):
        outer = _indent(text.line(line))
        while end <= last and (not text.line(end).strip() or _indent(text.line(end)) > outer):
            end += 1
    return range(line, end)


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


def _comment(text: SourceText, found: re.Match[str], *, is_alone: bool) -> Span:
    """The whole comment: its line if it is alone there, otherwise with the space before it."""
    if is_alone:
        line, _ = text.line_and_column(found.start())
        starts = text.line_starts
        return Span(starts[line - 1], starts[line] if line < len(starts) else len(text.text))
    return Span(len(text.text[: found.start()].rstrip(" \t")), found.end())


def _listed(codes: list[re.Match[str]], index: int) -> Span:
    """One of several codes with the comma before it; the first code with the comma after it."""
    if index:
        return Span(codes[index - 1].end(), codes[index].end())
    return Span(codes[0].start(), codes[1].start())


# The scheduler name of a profile that serves every pending pod (offline verbs).
EVERY_POD: Final = "*"


@dataclass(frozen=True, slots=True)
class Compiled:
    """A program, unless there are errors; diagnostics in the order of files and lines. `tenants`:
    what became of the policies of each tenant, whose diagnostics are not among these."""

    program: Program | None
    diagnostics: tuple[Diagnostic, ...]
    tenants: tuple[TenantOutcome, ...] = ()


def compile_policy(
    sources: Sequence[Source | str] | Source | str = (),
    *,
    every_pod: bool = False,
    params: Mapping[str, Any] | None = None,
    release: str = "",
    library: Sequence[Source] = (),
    authority: Authority = UNLIMITED,
    cluster_version: str = "",
    feature_gates: Mapping[str, bool] | None = None,
) -> Compiled:
    """Compile all policies of `sources` to one program.

    No source at all means `kube-scheduler-default`. With `every_pod`, a program of a single profile
    serves every pending pod, whatever scheduler it names. `params` win over all other values of
    params; `paramsFrom` may name the ConfigMaps among the sources. `release` is the release of
    Kubernetes whose decisions are wanted, or `auto`; empty for what the policies say. One before
    those that are followed only says what legacy names mean. `cluster_version` is what `auto`
    stands for, if it is known, and `feature_gates` are those that are not as the release has them.
    `library` holds further policies that may be named as a base. `authority`: what the process
    allows policies to do.
    """
    return examine(
        sources,
        every_pod=every_pod,
        params=params,
        release=release,
        library=library,
        authority=authority,
        cluster_version=cluster_version,
        feature_gates=feature_gates,
    ).compiled()


# Codes that need a snapshot: without one, a comment that silences them is not unused.
SNAPSHOT_CODES: Final = frozenset({"KP304", "KP312", "KP323", "KP328", "KP504"})


@dataclass(frozen=True, slots=True)
class Examined:
    """All results of compiling, before comments silence findings: `kpolicy lint` adds to them.

    `texts` are in the order of the sources."""

    program: Program | None
    findings: tuple[Diagnostic, ...]
    texts: tuple[SourceText, ...]
    policies: tuple[Policy, ...]
    expressions: ExpressionSets
    resolution: Resolution

    def compiled(
        self, more: Iterable[Diagnostic] = (), not_looked_for: Collection[str] = SNAPSHOT_CODES
    ) -> Compiled:
        """With `more` findings about the same texts."""
        left = without_suppressed([*self.findings, *more], self.texts, not_looked_for)
        diagnostics = _ordered(left)
        program = None if has_errors(diagnostics) else self.program
        return Compiled(program, diagnostics[:DIAGNOSTICS_MAX])


def examine(
    sources: Sequence[Source | str] | Source | str = (),
    *,
    every_pod: bool = False,
    params: Mapping[str, Any] | None = None,
    release: str = "",
    library: Sequence[Source] = (),
    authority: Authority = UNLIMITED,
    cluster_version: str = "",
    feature_gates: Mapping[str, bool] | None = None,
    served: Sequence[str] = (),
    nodes_max: int = EXPRESSION_NODES_MAX,
) -> Examined:
    """`compile_policy` describes the arguments. `served`, of a tenant's policies: the operator's
    profiles, to which their rules are added. `nodes_max`: what all expressions may have
    together."""
    named = named_sources(sources) or [shipped_source(BASE_DEFAULT)]
    asked = Asked(release, cluster_version, feature_gates or {})
    found = find_documents(named, asked.legacy)
    read = read_policies(found.documents)
    findings = [*found.diagnostics, *read.diagnostics]
    policies = _distinct(read.policies, findings)
    if served:
        policies = [_serving(policy, served) for policy in policies]
    bases = base_policies(policies, library)
    everyone = [*policies, *bases.values()]
    rules = {policy.name: written_rules(policy) for policy in everyone}
    lines, line_findings = lineages(everyone, bases)
    values = ParamValues(params or {}, found.config_maps)
    expressions = ExpressionSets(lines, values, nodes_max)
    resolution = resolve([effective(lines[policy.name], rules) for policy in policies])
    findings += [
        *chain.from_iterable(written.diagnostics for written in rules.values()),
        *line_findings,
        *expressions.diagnostics,
        *resolution.diagnostics,
        *check_policies(policies, resolution),
        *check_extenders(policies, resolution),
        *check_authority(policies, bases.values(), authority),
        *_of_plugins(everyone, authority),
        *chain.from_iterable(
            beyond(policy, expressions.own[policy.name], 1) for policy in policies
        ),
        *chain.from_iterable(
            check_helped_by(policy, expressions.own[policy.name]) for policy in policies
        ),
        *chain.from_iterable(
            check_queue(resolution.effectives[policy.name], expressions.own[policy.name])
            for policy in policies
        ),
        *check_rules(policies, expressions.own, resolution),
        *uncalled(found.config_maps, policies),
    ]
    if params:
        findings += values.unknown([*everyone, *offered(library).values()])
    if not policies and not has_errors(findings):
        findings.append(remark("KP101", f"there is no policy in {named[0].name}"))
    program = _program(
        policies,
        everyone,
        resolution,
        expressions,
        findings,
        every_pod=every_pod,
        tenant_label=authority.tenant_label,
        # What a base says counts for those that stand on it.
        followed=followed(asked, everyone, findings),
    )
    return Examined(program, tuple(findings), found.texts, tuple(policies), expressions, resolution)


def _of_plugins(policies: Sequence[Policy], authority: Authority) -> Iterator[Diagnostic]:
    if any(policy.model.spec.plugins is not None for policy in policies):
        from kpolicy.policy.assembly.plugin_checks import check_plugins  # noqa: PLC0415  rarely used

        yield from check_plugins(policies, authority)


def _ordered(diagnostics: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
    """Sorts by file and line and drops repetitions; an error hides warnings at the same place."""
    # Two rules may share the arguments that are wrong: that is one finding.
    distinct = {(d.code, d.place, d.message): d for d in reversed(list(diagnostics))}
    wrong = {found.place for found in distinct.values() if found.is_error}
    kept = [found for found in distinct.values() if found.is_error or found.place not in wrong]
    return tuple(sorted(kept, key=lambda d: (astuple(d.place)[:3] if d.place else (), d.code)))


def _distinct(policies: Iterable[Policy], findings: list[Diagnostic]) -> list[Policy]:
    """The policies under names that differ. One whose name occurs before is reported, and its own
    findings too: it is examined under a name that also says where it is."""
    by_name: dict[str, Policy] = {}
    for policy in policies:
        first = by_name.setdefault(policy.name, policy)
        if first is not policy:
            at = ("metadata", "name")
            note = Note("first here", place=first.place(at))
            message = f"two policies are called `{policy.name}`"
            findings.append(policy.remark("KP104", message, at, notes=(note,)))
            name = f"{policy.name} ({policy.place(at)})"
            by_name[name] = replace(policy, name=name)
    return list(by_name.values())


def _serving(policy: Policy, served: Sequence[str]) -> Policy:
    """The policy of a tenant, for the operator's profiles if it names none."""
    spec = policy.model.spec
    if not spec.profiles:
        profiles = [Profile.model_validate({"schedulerName": name}) for name in served]
        spec = spec.model_copy(update={"profiles": profiles})
    model = policy.model.model_copy(update={"spec": spec})
    return replace(policy, model=model, is_addition=True)


def _program(
    policies: Sequence[Policy],
    everyone: Sequence[Policy],
    resolution: Resolution,
    expressions: ExpressionSets,
    findings: list[Diagnostic],
    *,
    every_pod: bool,
    tenant_label: str,
    followed: Followed,
) -> Program | None:
    """The program of all profiles; `everyone` are `policies` and their bases."""
    profiles = dict(resolution.profiles)
    if every_pod and len(profiles) == 1:
        profiles = {EVERY_POD: next(iter(profiles.values()))}
    names = [policy.name for policy in everyone]
    assembled = [
        assemble(scheduler_name, served, names, expressions, findings)
        for scheduler_name, served in profiles.items()
    ]
    tie_break = _tie_break(policies, findings)
    nodes = sum(_expression_nodes(profile.entry) for profile in assembled)
    if nodes > PROGRAM_NODES_MAX:
        findings.append(
            policies[0].remark(
                "KP112",
                f"the expressions of all profiles have {nodes:,} nodes, at most "
                f"{PROGRAM_NODES_MAX:,} are allowed",
                ("spec", "profiles"),
                hint="each profile has all its rules: fewer profiles, or smaller rules",
            )
        )
    if not assembled or nodes > PROGRAM_NODES_MAX:
        return None
    limits = [policy.model.spec.limits for policy in everyone]
    queue = queue_entry(list(profiles.values()), expressions, tenant_label, findings)
    entries = [profile.entry for profile in assembled]
    extenders = [profile.extenders for profile in assembled]
    plugins = {profile.entry["schedulerName"]: profile.plugins for profile in assembled}
    return encode(
        names,
        tie_break,
        entries,
        extenders,
        limits,
        followed=followed,
        plugins=plugins,
        queue=queue,
        periods=written_periods(list(profiles.values()), findings),
    )


def _expression_nodes(profile: Mapping[str, Any]) -> int:
    """The number of IR nodes of all expressions of a profile."""
    expressions = chain.from_iterable(
        (
            rule.get("expression"),
            rule.get("when"),
            rule.get("messageExpression"),
            *rule.get("match", ()),
        )
        for rule in (*profile["filters"], *profile["scores"], *profile.get("holds", ()))
    )
    return sum(len(ir["nodes"]) for ir in expressions if ir is not None)


def _tie_break(policies: Sequence[Policy], findings: list[Diagnostic]) -> str:
    """One setting for the whole program: the engine has one source of randomness."""
    chosen: tuple[str, str] | None = None
    for policy in policies:
        wanted = policy.model.spec.tie_break
        if wanted is not None and chosen is not None and wanted != chosen[0]:
            findings.append(
                policy.remark(
                    "KP116", f"`{chosen[1]}` breaks ties by `{chosen[0]}`", ("spec", "tieBreak")
                )
            )
        elif wanted is not None:
            chosen = wanted, policy.name
    return chosen[0] if chosen else "random"


# Policies that others stand on by name: those that come with kpolicy, and those of a library.


@cache
def shipped_source(name: str) -> Source:
    file = f"{name}.yaml"
    return Source(file, (_SHIPPED / file).read_text("utf-8"))


@cache
def shipped_names() -> tuple[str, ...]:
    """The names of the policies in the package, without their tests."""
    names = [entry.name for entry in _SHIPPED.iterdir()]
    policies = (n for n in names if n.endswith(".yaml") and not n.endswith(".test.yaml"))
    return tuple(sorted(name.removesuffix(".yaml") for name in policies))


@cache
def _shipped_policy(name: str) -> Policy | None:
    return offered([shipped_source(name)]).get(name) if name in shipped_names() else None


def base_policies(policies: Sequence[Policy], sources: Sequence[Source]) -> dict[str, Policy]:
    """The policies of `sources` or of kpolicy that `policies` stand on, by name."""
    own = {policy.name for policy in policies}
    bases: dict[str, Policy] = {}
    wanted = {policy.base for policy in policies} - own
    others = offered(sources) if wanted - {None} else {}
    while wanted:
        name = wanted.pop() or ""
        found = others.get(name) or _shipped_policy(name)
        if found is not None:
            bases[name] = found
            wanted |= {found.base} - own - bases.keys()
    return bases


def offered(sources: Sequence[Source]) -> dict[str, Policy]:
    """The policies of `sources` by name."""
    read = read_policies(find_documents(sources).documents)
    return {policy.name: policy for policy in read.policies}
