"""The demo: a cluster, pods that arrive, a policy that changes half-way, and two explanations.

It uses only what any user of the scheduler and of the embedded control plane can use.
"""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

from rich.console import Console

from kpolicy.clock import SystemClock, task_group
from kpolicy.cluster.auth.load_connection import load_connection
from kpolicy.cluster.connection_problem import ConnectionProblem
from kpolicy.demo import demo_cluster
from kpolicy.demo.demo_cluster import NOT_TRIED, Tally, take
from kpolicy.demo.view import LiveView, Measured, View, explanation_lines, show_summary, write
from kpolicy.engine import Engine, Scheduled
from kpolicy.offline.answers.pod_decisions import explain
from kpolicy.offline.snapshots.cluster_snapshot import Snapshot
from kpolicy.policy.compile import compile_policy
from kpolicy.scheduler.delivery.policy_delivery import Policies
from kpolicy.scheduler.delivery.sources import FileSource
from kpolicy.scheduler.options import Options
from kpolicy.scheduler.problem_codes import Problem
from kpolicy.scheduler.process import Environment, Scheduler
from kpolicy.telemetry.traces import Traces
from kpolicy.testing.control_plane import ControlPlane
from kpolicy.testing.kubelet import KubeletTimes

Object = Mapping[str, Any]
POLICY, POLICY_CHANGED = "demo.yaml", "demo-reloaded.yaml"
# For `kubectl run --overrides`.
_FOR_KPOLICY = '{"spec": {"schedulerName": "kpolicy"}}'
PODS_A_STEP = 100
LOOK_EVERY_S = 0.2
# The longest wait, so that the demo never hangs.
WAIT_S_MAX = 40.0
READY_S_MAX = 10.0


@dataclass(frozen=True, slots=True)
class Scale:
    nodes: int = 300
    pods: int = 3000
    seed: int = 7


class DemoFailed(Exception):  # noqa: N818  an outcome that the command turns into a line
    """Something did not happen in time; the text says what."""


@dataclass(slots=True)
class Story:
    scale: Scale
    console: Console
    keep: bool
    kubeconfig: Path | None
    traces: Traces

    async def tell(self) -> None:
        with tempfile.TemporaryDirectory(prefix="kpolicy-demo-") as folder:
            await self._tell_in(Path(folder))

    async def _tell_in(self, folder: Path) -> None:
        policy = folder / "policy.yaml"
        policy.write_text(shipped(POLICY))
        async with ControlPlane(kubelet=KubeletTimes()) as control_plane:
            kubeconfig = control_plane.write_kubeconfig(self.kubeconfig or folder / "kubeconfig")
            engine = MeasuredEngine(self.scale.seed)
            scheduler = await self._scheduler(kubeconfig, policy, engine)
            async with task_group() as group:
                run = group.create_task(scheduler.run())
                try:
                    make_view = LiveView if self.console.is_terminal else View
                    with make_view(self.console) as view:
                        scene = Scene(self.scale, control_plane, scheduler, engine, view, run)
                        measured = await scene.play(policy)
                        await scene.explain()
                    show_summary(self.console, measured)
                    if self.keep:
                        await self._stay(kubeconfig, policy, run, scheduler)
                finally:
                    scheduler.stop()
                    await run

    async def _scheduler(self, kubeconfig: Path, policy: Path, engine: MeasuredEngine) -> Scheduler:
        clock = SystemClock()
        connection = await load_connection({}, clock, kubeconfig=kubeconfig)
        if isinstance(connection, ConnectionProblem):
            raise DemoFailed(str(connection))
        options = Options(port=0, leader_elect=False, seed=self.scale.seed)
        source = FileSource([policy], clock)
        return Scheduler(
            connection,
            Policies(source),
            options,
            environment=Environment(clock=clock, engine=engine, traces=self.traces),
        )

    async def _stay(
        self,
        kubeconfig: Path,
        policy: Path,
        run: asyncio.Task[Problem | None],
        scheduler: Scheduler,
    ) -> None:
        for line in (
            "",
            "the control plane and the scheduler stay; in another terminal:",
            f"  export KUBECONFIG={kubeconfig}",
            "  kubectl get pods --namespace demo -o wide",
            f"  $EDITOR {policy}    # a change is in force within seconds",
            "there are no controllers: a Deployment makes no pods. This makes one for kpolicy:",
            f"  kubectl run mine --namespace demo --image nginx --overrides='{_FOR_KPOLICY}'",
            f"  kpolicy why demo/mine --policy {policy}    # where it is or may be, and why",
            "ctrl-C ends it",
        ):
            write(self.console, line)
        in_force = hash_in_force(scheduler)
        edits = 0
        while not run.done():
            await asyncio.wait([run], timeout=LOOK_EVERY_S)
            if (now := hash_in_force(scheduler)) != in_force:
                in_force, edits = now, edits + 1
                write(self.console, f"edit {edits} of {policy.name} is in force ({short(now)})")


@dataclass(slots=True)
class Scene:
    scale: Scale
    control_plane: ControlPlane
    scheduler: Scheduler
    engine: MeasuredEngine
    view: View
    run: asyncio.Task[Problem | None]

    async def play(self, policy: Path) -> Measured:
        nodes = list(demo_cluster.nodes(self.scale.nodes))
        namespace = {"apiVersion": "v1", "kind": "Namespace"}
        self.control_plane.add(namespace | {"metadata": {"name": demo_cluster.NAMESPACE}}, *nodes)
        counts = Counter(node["metadata"]["labels"]["pool"] for node in nodes)
        pools = ", ".join(f"{counts[pool.name]} {pool.name}" for pool in demo_cluster.POOLS)
        self.view.say(f"{len(nodes)} nodes in {len(demo_cluster.ZONES)} zones: {pools}")
        await self._until(lambda: self.scheduler.ready, "the scheduler to be ready", READY_S_MAX)
        self.view.say(f"policy {POLICY} is in force ({short(self._hash())})")
        pods = demo_cluster.pods(self.scale.pods, self.scale.seed)
        half = len(pods) // 2
        began = time.monotonic()
        await self._place(pods[:half], began)
        await self._reload(policy)
        tally = await self._place(pods[half:], began)
        before, after = self._nodes_of(pods[:half]), self._nodes_of(pods[half:])
        self.view.say(
            f"the pods before the change spread over {before} nodes, those after it filled "
            f"{after}: the changed policy prefers full nodes"
        )
        seconds = time.monotonic() - began
        return Measured(seconds, self.engine.decisions, self.engine.decision_seconds, tally)

    async def explain(self) -> None:
        """Explains a placed pod of high priority, as if it were not there, and a pending pod."""
        placed, pending = [], []
        for pod in sorted(self._pods(), key=name_of):
            if not pod["spec"].get("nodeName"):
                pending.append(pod)
            elif pod["spec"].get("priority"):
                placed.append(pod)
        asked = [*placed[:1], *pending[:1]]
        items = [item for kind in ("Node", "Pod") for item in self.control_plane.objects(kind)]
        program = compile_policy(shipped(POLICY_CHANGED)).program
        assert program is not None, "the shipped policy compiles"
        self.view.say("")
        self.view.say(f"judged by policy {POLICY_CHANGED} ({short(program.hash)}):")
        answers = await asyncio.to_thread(
            explain, Snapshot.of(items), program, [name_of(pod) for pod in asked]
        )
        explained = {answer["pod"]: answer for answer in answers.explanations}
        for pod in asked:
            node = pod["spec"].get("nodeName", "")
            for line in ["", *explanation_lines(explained[name_of(pod)], node)]:
                self.view.say(line)

    async def _place(self, pods: Sequence[Object], began: float) -> Tally:
        """Creates pods in small steps, and waits until each is placed or has a reason."""
        for start in range(0, len(pods), PODS_A_STEP):
            self.control_plane.add(*(dict(pod) for pod in pods[start : start + PODS_A_STEP]))
            self._show(began)
            await asyncio.sleep(0)
        expected = self._tally().placed + self._tally().pending
        await self._until(lambda: self._settled(began, expected), "every pod to be tried")
        return self._tally()

    async def _reload(self, policy: Path) -> None:
        """Replaces the policy's file in one step, as an editor or a mounted ConfigMap does."""
        before = self._hash()
        fresh = policy.with_suffix(".new")
        fresh.write_text(shipped(POLICY_CHANGED))
        fresh.replace(policy)
        began = time.monotonic()
        await self._until(lambda: self._hash() != before, "the changed policy to be in force")
        took = time.monotonic() - began
        self.view.say(
            f"policy {POLICY_CHANGED} took its place ({short(self._hash())}), "
            f"{took:.1f} s after the file changed; nothing restarted"
        )

    async def _until(
        self, happened: Callable[[], bool], what: str, seconds: float = WAIT_S_MAX
    ) -> None:
        ends_at = time.monotonic() + seconds
        while not happened():
            if self.run.done():
                raise DemoFailed(f"the scheduler stopped: {self.run.result()}")
            if time.monotonic() > ends_at:
                raise DemoFailed(f"waited {seconds:.0f} s in vain for {what}")
            await asyncio.sleep(LOOK_EVERY_S)

    def _settled(self, began: float, expected: int) -> bool:
        counted = self._show(began)
        reasons = counted.pending_by_reason
        return counted.placed + counted.pending >= expected and NOT_TRIED not in reasons

    def _show(self, began: float) -> Tally:
        counted = self._tally()
        seconds = max(time.monotonic() - began, 0.001)
        self.view.progress(counted, self.scale.pods, counted.placed / seconds)
        return counted

    def _pods(self) -> list[Object]:
        return list(self.control_plane.objects("Pod", demo_cluster.NAMESPACE))

    def _tally(self) -> Tally:
        return take(self._pods(), list(self.control_plane.objects("Node")))

    def _nodes_of(self, pods: Sequence[Object]) -> int:
        names = {pod["metadata"]["name"] for pod in pods}
        mine = (pod["spec"] for pod in self._pods() if pod["metadata"]["name"] in names)
        return len({spec["nodeName"] for spec in mine if spec.get("nodeName")})

    def _hash(self) -> str:
        return hash_in_force(self.scheduler)


def hash_in_force(scheduler: Scheduler) -> str:
    in_force = scheduler.policy
    return in_force.hash if in_force is not None else ""


def short(policy_hash: str) -> str:
    """The hash as the demo shows it: enough to tell policies apart."""
    return policy_hash[:19]


def name_of(pod: Object) -> str:
    return f"{pod['metadata']['namespace']}/{pod['metadata']['name']}"


def shipped(name: str) -> str:
    return (resources.files("kpolicy") / "policies" / name).read_text()


class MeasuredEngine(Engine):
    """The engine with a stopwatch. The scheduler calls it from one thread."""

    __slots__ = ("decision_seconds", "decisions")

    def __init__(self, seed: int = 0) -> None:
        super().__init__(seed)
        self.decisions = 0
        self.decision_seconds = 0.0

    def schedule(self, uids: Sequence[str], now_ns: int) -> Scheduled:
        began = time.perf_counter()
        scheduled = super().schedule(uids, now_ns)
        self.decision_seconds += time.perf_counter() - began
        self.decisions += len(scheduled.decisions)
        return scheduled
