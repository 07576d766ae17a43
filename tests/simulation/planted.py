"""Mistakes to plant into the scheduler, each with the invariants that it violates. The simulation
must find each of them. A test that plants a mistake removes it again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import Any, Final
from unittest.mock import patch

from kpolicy.cluster.writes import binder, volume_writer as volume_patches
from kpolicy.cluster.writes.binder import Binding, binding_body
from kpolicy.cluster.writes.evictor import Eviction
from kpolicy.cluster.writes.pod_status import PodCondition, PodStatusWriter
from kpolicy.cluster.writes.volume_writer import ObjectVersion
from kpolicy.engine import Applied, ClaimWork, Decision, KeptNode
from kpolicy.policy.yaml.source import Source
from kpolicy.scheduler.binding.device_claims import DeviceClaims, HeldClaim
from kpolicy.scheduler.binding.pre_binds import PreBinds
from kpolicy.scheduler.binding.reservations import Reservation
from kpolicy.scheduler.delivery.last_good import ConfigMapStore, LastGood
from kpolicy.scheduler.delivery.sources import ConfigMapSource
from kpolicy.scheduler.extenders import extended_pods
from kpolicy.scheduler.extenders.asking import Asked, Subject, ask
from kpolicy.scheduler.extenders.in_force import ExtenderClient
from kpolicy.scheduler.long_tasks import Leadership
from kpolicy.scheduler.loop.policy_order import PolicyOrder
from kpolicy.scheduler.loop.queue import Queue
from kpolicy.scheduler.loop.queue_feed import EngineSink
from kpolicy.scheduler.loop.queued_pod import Attempt, QueuedPod
from kpolicy.scheduler.plugged.placements import PluggedPod
from kpolicy.scheduler.preemption import preemptions
from kpolicy.scheduler.preemption.room import Plan, plan
from kpolicy.scheduler.problem_codes import Problem
from tests.simulation.decision_log import LoggedEngine
from tests.simulation.setting import Setting


@dataclass(frozen=True, slots=True)
class Mistake:
    """`invariants`: any of them is a find. `wrong`: what takes the place of the owner's names.
    `setting`: of the worlds in which it can do harm. `first_seed`: the first world that is tried,
    one in which it does, so that a rare harm is found soon."""

    name: str
    invariants: frozenset[str]
    owner: Any
    wrong: dict[str, Callable[..., Any]]
    setting: Setting | None = None
    first_seed: int = 1


async def _at_once(self: Leadership) -> None:
    self._started = True
    self._thread.start()


def _always(self: Leadership) -> bool:
    return True


_list_page, _watch = LoggedEngine.list_page, LoggedEngine.watch


def _large_page(self: LoggedEngine, resource: str, body: bytes, now_ns: int) -> Applied:
    return _list_page(self, resource, _doubled(resource, body), now_ns)


def _large_lines(self: LoggedEngine, resource: str, lines: bytes, now_ns: int) -> Applied:
    return _watch(self, resource, _doubled(resource, lines), now_ns)


def _doubled(resource: str, text: bytes) -> bytes:
    return text.replace(b'"cpu":"2"', b'"cpu":"4"') if resource == "nodes" else text


def _open_page(self: LoggedEngine, resource: str, body: bytes, now_ns: int) -> Applied:
    return _list_page(self, resource, _opened(resource, body), now_ns)


def _open_lines(self: LoggedEngine, resource: str, lines: bytes, now_ns: int) -> Applied:
    return _watch(self, resource, _opened(resource, lines), now_ns)


def _opened(resource: str, text: bytes) -> bytes:
    """Disruption budgets allow everything."""
    if resource != "poddisruptionbudgets":
        return text
    return text.replace(b'"disruptionsAllowed":0', b'"disruptionsAllowed":99')


def _unheld_page(self: LoggedEngine, resource: str, body: bytes, now_ns: int) -> Applied:
    return _list_page(self, resource, _unheld(resource, body), now_ns)


def _unheld_lines(self: LoggedEngine, resource: str, lines: bytes, now_ns: int) -> Applied:
    return _watch(self, resource, _unheld(resource, lines), now_ns)


def _unheld(resource: str, text: bytes) -> bytes:
    """No claim holds a device."""
    return text.replace(b'"allocation":', b'"nothing":') if resource == "resourceclaims" else text


def _by_name(binding: Binding) -> bytes:
    return binding_body(binding).replace(b'"uid":"' + binding.uid.encode() + b'"', b'"uid":""')


def _deaf(self: Queue, uid: str, event: str, now_ns: int) -> None:
    """No event wakes a parked pod."""


def _unrested(self: PolicyOrder, pod: QueuedPod) -> None:
    """No hold begins to hold a parked pod."""
    self.leave(pod.uid)


async def _forgetful(self: EngineSink, resource: str, resource_version: str) -> None:
    """Objects that a list no longer contains are not removed."""


async def _nothing_wanted(self: ConfigMapSource) -> tuple[Source, ...]:
    """After the policy is deleted, the shipped policy comes into force."""
    read = await _read(self)
    return () if isinstance(read, Problem) else read


async def _keep_nothing(self: ConfigMapStore, kept: LastGood) -> None:
    """Nothing is kept, but the write is reported as done."""


async def _unasked(
    self: PreBinds, pod: Attempt, decision: Decision, reservation: Reservation
) -> None:
    """The pod is bound before its volumes."""


async def _unwritten(self: DeviceClaims, pod: Attempt, work: ClaimWork) -> HeldClaim:
    """The pod is bound before its claims on devices are written."""
    return HeldClaim(work.claim, False, 0)


def _whatever_it_is(read: ObjectVersion) -> dict[str, str]:
    """A promise stays, however the object has changed."""
    return {"uid": read.uid}


_preemptors: list[Attempt] = []


def _one_more(pod: Attempt, decision: Decision) -> Plan:
    """A pod for which others were evicted before is evicted too."""
    wanted = plan(pod, decision)
    more = [
        Eviction(preemptor.namespace, preemptor.name, preemptor.uid, "one more")
        for preemptor in _preemptors
        if preemptor.uid != pod.uid
    ]
    _preemptors[:] = [pod]
    return replace(wanted, evictions=(*wanted.evictions, *more))


async def _keeps_all(clients: Sequence[ExtenderClient], subject: Subject, nodes: Any) -> Asked:
    """Extenders are asked, and their answers are ignored."""
    await ask(clients, subject, nodes)
    return Asked(tuple(KeptNode(node, 0) for node in nodes))


def _remembers(self: PodStatusWriter, uid: str) -> None:
    """The last written status of a pod is kept after the pod is deleted."""


def _stands(self: PodStatusWriter, condition: PodCondition, *, urgent: bool = False) -> None:
    """A nomination that is no longer valid is never cleared."""
    _set(self, replace(condition, nominated_node=condition.nominated_node or None), urgent=urgent)


async def _unreserves_some(self: PluggedPod) -> None:
    """Unreserve is forgotten after a Permit plugin has refused."""
    self._forget_wait()
    if self._last is not None and self._last.point != "Permit":
        await _unreserve(self)


async def _no_wait(self: PluggedPod) -> None:
    """A pod that should wait on Permit is bound at once."""
    self._forget_wait()


_unreserve = PluggedPod.unreserve
_read, _set = ConfigMapSource.read, PodStatusWriter.set

_PLUGINS: Final = Setting(has_plugins=True)
_BY_MAP: Final = Setting(by_config_map=True)
_VOLUMES: Final = Setting(has_volumes=True)
_EXTENDERS: Final = Setting(has_extenders=True)
_BUDGETS: Final = Setting(has_budgets=True)
_DEVICES: Final = Setting(has_devices=True)
MISTAKES: Final = (
    Mistake(
        "acts without leading",
        frozenset({"I8"}),
        Leadership,
        {"acquire": _at_once, "fence": _always},
    ),
    Mistake(
        "nodes read too large",
        frozenset({"I2"}),
        LoggedEngine,
        {"list_page": _large_page, "watch": _large_lines},
    ),
    Mistake("binds by name", frozenset({"I10"}), binder, {"binding_body": _by_name}),
    Mistake("wakes lost", frozenset({"I5", "I13"}), Queue, {"wake": _deaf}),
    Mistake(
        "holds of parked pods unasked",
        frozenset({"I13"}),
        PolicyOrder,
        {"rest": _unrested},
        first_seed=39,
    ),
    Mistake(
        "lists end nothing",
        frozenset({"I4", "I6", "I10"}),
        EngineSink,
        {"list_end": _forgetful},
        first_seed=2,
    ),
    Mistake(
        "gone is default",
        frozenset({"I11"}),
        ConfigMapSource,
        {"read": _nothing_wanted},
        _BY_MAP,
        first_seed=7,
    ),
    Mistake(
        "nothing is kept", frozenset({"I11"}), ConfigMapStore, {"save": _keep_nothing}, _BY_MAP
    ),
    Mistake("binds before volumes", frozenset({"I3"}), PreBinds, {"pre_bind": _unasked}, _VOLUMES),
    Mistake(
        "promises twice",
        frozenset({"I12"}),
        volume_patches,
        {"_metadata": _whatever_it_is},
        _VOLUMES,
    ),
    Mistake(
        "binds before devices", frozenset({"I3"}), DeviceClaims, {"hold": _unwritten}, _DEVICES
    ),
    Mistake(
        "devices in use unread",
        frozenset({"I3"}),
        LoggedEngine,
        {"list_page": _unheld_page, "watch": _unheld_lines},
        _DEVICES,
    ),
    Mistake("evicts one more", frozenset({"I12"}), preemptions, {"plan": _one_more}),
    Mistake(
        "budgets unread",
        frozenset({"I12"}),
        LoggedEngine,
        {"list_page": _open_page, "watch": _open_lines},
        _BUDGETS,
        first_seed=60,
    ),
    Mistake("extenders unheard", frozenset({"I3"}), extended_pods, {"ask": _keeps_all}, _EXTENDERS),
    Mistake("statuses remembered", frozenset({"I7"}), PodStatusWriter, {"forget": _remembers}),
    Mistake(
        "nominations stand", frozenset({"I7"}), PodStatusWriter, {"set": _stands}, first_seed=10
    ),
    Mistake(
        "a refused permit keeps its place",
        frozenset({"I14"}),
        PluggedPod,
        {"unreserve": _unreserves_some},
        _PLUGINS,
    ),
    Mistake("waits for no permit", frozenset({"I14"}), PluggedPod, {"_wait": _no_wait}, _PLUGINS),
)


@contextmanager
def planted(mistake: Mistake) -> Iterator[None]:
    with ExitStack() as patches:
        for name, wrong in mistake.wrong.items():
            patches.enter_context(patch.object(mistake.owner, name, wrong))
        yield
