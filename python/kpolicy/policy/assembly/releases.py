"""The release of Kubernetes whose decisions a program makes, and the feature gates of its operator.

A user's `--release` counts before what a policy says (`compatibility.release`), and that before
`auto`: the release of the cluster where it is known, otherwise the newest that kpolicy follows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from itertools import chain
from typing import Any, Final

from kpolicy.diagnostics import Diagnostic, did_you_mean
from kpolicy.policy.assembly.read_policy import Policy
from kpolicy.policy.codes.registry import remark
from kpolicy.policy.models.scheduling_policy import AUTO, minor_of
from kpolicy.quick_dataclass import dataclass
from kpolicy.release_table import FEATURE_GATES, RELEASES

OLDEST: Final = RELEASES[0]
NEWEST: Final = RELEASES[-1]
_OLDEST_MINOR: Final = int(OLDEST.partition(".")[2])
# The last release that read legacy files. A later one cannot only say how they are read.
_LEGACY_MINOR_LAST: Final = 22
_PATH: Final = ("spec", "compatibility", "release")
_GATES_PATH: Final = ("spec", "compatibility", "featureGates")
# What the table says of a gate that is open, and of one that a release does not have.
_OPEN: Final = frozenset({"on", "locked"})
_LOCKED: Final = "locked"
_ABSENT: Final = "absent"
# kube-scheduler sets all gates of a stage by these.
_WHOLE_STAGES: Final = frozenset({"AllAlpha", "AllBeta"})


@dataclass(frozen=True, slots=True)
class Followed:
    """`is_asked`: a user or a policy asked for the release. Otherwise it is what it is by chance,
    and the hash of a program does not count it."""

    release: str = NEWEST
    is_asked: bool = False
    gates: Mapping[str, bool] = field(default_factory=dict)

    def fields(self) -> dict[str, Any]:
        """The fields of the program document."""
        gates = {"featureGates": dict(self.gates)} if self.gates else {}
        return {"release": self.release, **gates}

    def shown(self) -> dict[str, Any]:
        """For people."""
        return {"release": self.release, "isAsked": self.is_asked, "featureGates": dict(self.gates)}


@dataclass(frozen=True, slots=True)
class Asked:
    """What the caller asks for and knows. `release`: a release, `auto`, or empty for what policies
    say; one before those that are followed says only how legacy files are read. `cluster`: the
    version of the cluster's API server, or empty."""

    release: str = ""
    cluster: str = ""
    gates: Mapping[str, bool] = field(default_factory=dict)

    @property
    def legacy(self) -> str:
        """The release by which legacy files are to be read, or empty."""
        return legacy_release(self.release)


def legacy_release(release: str) -> str:
    """The release, if it says how legacy files are read; empty if it says how to decide."""
    return "" if release == AUTO or is_followed(release) else release


def is_followed(release: str) -> bool:
    """Whether the release says how to decide. One that kpolicy does not know stands for the nearest
    that it knows."""
    minor = minor_of(release)
    return minor is not None and (not _is_first(release) or minor > _LEGACY_MINOR_LAST)


def _is_first(release: str) -> bool:
    return release.removeprefix("v").startswith("1.")


def followed(asked: Asked, policies: Sequence[Policy], findings: list[Diagnostic]) -> Followed:
    """The release and the gates of a program of these policies."""
    if is_followed(asked.release):
        release, is_asked = _known(asked.release, findings), True
    elif stated := _stated(policies, findings) if asked.release != AUTO else "":
        release, is_asked = stated, True
    else:
        release, is_asked = _known(asked.cluster, findings) if asked.cluster else NEWEST, False
    findings += gate_findings(asked.gates, release)
    gates = {**_stated_gates(asked, policies, release, findings), **asked.gates}
    for argument in _GATED_ARGUMENTS:
        if not _is_open(argument.gate, release, gates):
            is_set = argument.gate in gates
            findings += chain.from_iterable(argument.findings(each, is_set) for each in policies)
    return Followed(release, is_asked, gates)


def _known(version: str, findings: list[Diagnostic]) -> str:
    """The release of a version, or the nearest one that is followed, which is then said."""
    release, finding = _nearest(version)
    findings += [finding] if finding is not None else []
    return release


def _nearest(version: str) -> tuple[str, Diagnostic | None]:
    minor = minor_of(version)
    if _is_first(version) and f"1.{minor}" in RELEASES:
        return f"1.{minor}", None
    is_older = _is_first(version) and minor is not None and minor < _OLDEST_MINOR
    release = OLDEST if is_older else NEWEST
    message = f"kpolicy does not follow Kubernetes {version}; it decides as {release} does"
    return release, remark("KP609", message, hint=f"it follows {OLDEST} to {NEWEST}")


def _stated(policies: Sequence[Policy], findings: list[Diagnostic]) -> str:
    """What the policies say; empty where none says anything. A program has one release."""
    first: tuple[str, Policy] | None = None
    for policy in policies:
        written = policy.model.spec.compatibility.release or ""
        if not is_followed(written):
            continue
        release, finding = _nearest(written)
        if first is None and finding is not None:
            findings.append(policy.remark("KP609", finding.message, _PATH, hint=finding.hint))
        if first is not None and release != first[0]:
            message = f"`{first[1].name}` asks for the decisions of {first[0]}"
            findings.append(policy.remark("KP116", message, _PATH))
        first = first or (release, policy)
    return first[0] if first is not None else ""


def _stated_gates(
    asked: Asked, policies: Sequence[Policy], release: str, findings: list[Diagnostic]
) -> dict[str, bool]:
    """What the policies say of gates of which the caller says nothing."""
    first: dict[str, tuple[bool, Policy]] = {}
    for policy in policies:
        for name, is_open in policy.model.spec.compatibility.feature_gates.items():
            path = (*_GATES_PATH, name)
            if name in asked.gates:
                continue
            before, of = first.setdefault(name, (is_open, policy))
            if of is policy:
                found = gate_findings({name: is_open}, release)
                findings += [policy.remark(f.code, f.message, path, hint=f.hint) for f in found]
            elif before != is_open:
                message = f"`{of.name}` sets the feature gate `{name}` to {str(before).lower()}"
                findings.append(policy.remark("KP116", message, path))
    return {name: is_open for name, (is_open, _) in first.items()}


_GATES: Final = {
    name: (dict(zip(RELEASES, stages, strict=True)), is_read)
    for name, stages, is_read in FEATURE_GATES
}


def _is_open(name: str, release: str, gates: Mapping[str, bool]) -> bool:
    return gates.get(name, _GATES[name][0][release] in _OPEN)


@dataclass(frozen=True, slots=True)
class _GatedArgument:
    """An argument of a built-in that needs a feature gate."""

    builtin: str
    name: str
    gate: str

    def findings(self, policy: Policy, is_set: bool) -> Iterator[Diagnostic]:
        """The rules that have it, where the gate is off; `is_set`: somebody turned it off."""
        since = next(release for release in RELEASES if _is_open(self.gate, release, {}))
        for path, rule in policy.rules():
            if rule.builtin == self.builtin and self.name in (rule.args or {}):
                message = f"`{self.name}` needs the feature gate `{self.gate}`, which is off"
                follow = "" if is_set else f", or follow {since}"
                hint = f"remove it, or turn on the gate (--feature-gates){follow}"
                yield policy.remark("KP115", message, (*path, "args", self.name), hint=hint)


_GATED_ARGUMENTS: Final = (
    _GatedArgument("VolumeBinding", "shape", "StorageCapacityScoring"),
    _GatedArgument("DynamicResources", "bindingTimeout", "DRADeviceBindingConditions"),
    _GatedArgument("DynamicResources", "bindingTimeout", "DRAResourceClaimDeviceStatus"),
)


def gate_findings(gates: Mapping[str, bool], release: str) -> Iterator[Diagnostic]:
    """KP610 for each gate that cannot be set like this in the release."""
    for name, is_open in gates.items():
        stages, is_read = _GATES.get(name, ({}, False))
        stage = stages.get(release, _ABSENT)
        if name in _WHOLE_STAGES:
            message = f"`{name}` sets many gates at once, and kpolicy does not follow all of them"
            yield remark("KP610", message, hint="name the gates that decisions depend on")
        elif stage == _ABSENT:
            known = [gate for gate, (by, _) in _GATES.items() if by[release] != _ABSENT]
            message = f"kube-scheduler {release} has no feature gate `{name}`"
            yield remark("KP610", message, hint=did_you_mean(name, known) or "")
        elif is_open == (stage in _OPEN):
            continue
        elif stage == _LOCKED:
            yield remark("KP610", f"the feature gate `{name}` is always on in {release}")
        elif not is_read:
            message = f"kpolicy does not honour the feature gate `{name}`"
            default = "on" if stage in _OPEN else "off"
            hint = f"it decides as kube-scheduler does with the gate {default}, the default"
            yield remark("KP610", message, hint=hint)
