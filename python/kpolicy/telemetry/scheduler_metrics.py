"""The metrics of the scheduler: kube-scheduler's names where the meaning is the same, and our own.

Numbers that are kept elsewhere (queue, informers, engine) are read at scrape time through `watch`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from typing import Final, Protocol

from kpolicy.telemetry.metrics import (
    Computed,
    Counter,
    Description,
    Gauge,
    Histogram,
    Labels,
    Registry,
    exponential,
)
from kpolicy.telemetry.rule_labels import RuleLabels

_ATTEMPT_BOUNDS: Final = exponential(0.001, 2, 15)
# the buckets of client-go
_REQUEST_BOUNDS: Final = (0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 30.0, 60.0)
_LABELLED_ATTEMPTS_MAX: Final = 14
SAMPLED_OF: Final = 10  # the buckets of the engine


class Timed(Protocol):
    """The times of a decision, such as `kpolicy.engine.Decision`."""

    @property
    def took_ns(self) -> int: ...


class SchedulerMetrics:
    def __init__(self) -> None:
        self.rule_labels = RuleLabels()
        self.attempts = Counter(
            "scheduler_schedule_attempts_total",
            "Attempts to schedule pods, by result and profile.",
            ("result", "profile"),
        )
        self.attempt_seconds = Histogram(
            "scheduler_scheduling_attempt_duration_seconds",
            "Duration of an attempt, including the bind if there was one.",
            _ATTEMPT_BOUNDS,
            ("result", "profile"),
        )
        self.algorithm_seconds = Histogram(
            "scheduler_scheduling_algorithm_duration_seconds",
            "Duration of filtering, scoring and selecting for one pod.",
            _ATTEMPT_BOUNDS,
        )
        self.extension_point_seconds = Histogram(
            "scheduler_framework_extension_point_duration_seconds",
            "Duration of all rules of one extension point for one pod.",
            exponential(0.0001, 2, 12),
            ("extension_point", "status", "profile"),
        )
        self.plugin_seconds = Histogram(
            "scheduler_plugin_execution_duration_seconds",
            "Duration of one rule at one extension point, of every tenth cycle and bind.",
            exponential(0.00001, 1.5, 20),
            ("plugin", "extension_point", "status"),
        )
        self.sli_seconds = Histogram(
            "scheduler_pod_scheduling_sli_duration_seconds",
            "Time from when a pod could first be tried until it was bound.",
            exponential(0.01, 2, 20),
            ("attempts",),
        )
        self.attempts_of_pod = Histogram(
            "scheduler_pod_scheduling_attempts",
            "Attempts until a pod was scheduled.",
            exponential(1, 2, 5),
        )
        self.rescued = Counter(
            "scheduler_pod_scheduled_after_flush_total",
            "Pods scheduled in an attempt that only the flush of parked pods caused, and no event.",
        )
        self.preemption_attempts = Counter(
            "scheduler_preemption_attempts_total",
            "Attempts that searched for victims.",
        )
        self.preemption_victims = Histogram(
            "scheduler_preemption_victims",
            "Victims of a preemption.",
            exponential(1, 2, 7),
        )
        # named as in kube-scheduler: evicting the victims, not searching for them
        self.rooms = Counter(
            "scheduler_preemption_goroutines_execution_total",
            "Preemptions carried out, by result.",
            ("result",),
        )
        self.room_seconds = Histogram(
            "scheduler_preemption_goroutines_duration_seconds",
            "Duration of carrying a preemption out, until the last victim was evicted.",
            exponential(0.01, 2, 20),
            ("result",),
        )
        self.permit_wait_seconds = Histogram(
            "scheduler_permit_wait_duration_seconds",
            "Time that pods waited on Permit, by result.",
            _ATTEMPT_BOUNDS,
            ("result",),
        )
        self.plugin_calls = Counter(
            "kpolicy_plugin_calls_total",
            "Calls of plugins in Python, by result.",
            ("plugin", "extension_point", "status"),
        )
        self.volume_errors = Counter(
            "scheduler_volume_scheduling_stage_error_total",
            "Pods whose volumes could not be bound, under the operation bind.",
            ("operation",),
        )
        self.rule_rejections = Counter(
            "kpolicy_rule_rejections_total",
            "Attempts that found no node, by each rule that rejected a node.",
            ("profile", "rule"),
        )
        self.rule_errors = Counter(
            "kpolicy_rule_errors_total",
            "Nodes for which an expression failed.",
            ("profile", "rule"),
        )
        self.rule_cost_exceeded = Counter(
            "kpolicy_rule_cost_exceeded_total",
            "Nodes for which an expression was not evaluated because of its cost (KR110).",
            ("profile", "rule"),
        )
        self.rule_clamped = Counter(
            "kpolicy_score_clamped_total",
            "Nodes whose score by an expression was limited to 0-100.",
            ("profile", "rule"),
        )
        self.rule_audited = Counter(
            "kpolicy_rule_audited_total",
            "Placements that a rule with enforcement audit would have rejected.",
            ("profile", "rule"),
        )
        self.request_seconds = Histogram(
            "rest_client_request_duration_seconds",
            "Duration of requests to the API server; of a watch, until it is open.",
            _REQUEST_BOUNDS,
            ("verb", "host"),
        )
        self.batch_pods = Histogram(
            "kpolicy_batch_pods", "Pods decided in one engine call.", exponential(1, 2, 9)
        )
        self.engine_call_seconds = Histogram(
            "kpolicy_engine_call_duration_seconds",
            "Duration of calls of the engine.",
            exponential(0.00005, 2, 16),
            ("call",),
        )
        self.loop_lag_seconds = Histogram(
            "kpolicy_loop_lag_seconds",
            "Delay of the event loop.",
            exponential(0.0005, 2, 14),
        )
        self.policy_info = Gauge(
            "kpolicy_policy_info", "1 for the policy in force.", ("hash", "generation")
        )
        self.reloads = Counter(
            "kpolicy_policy_reload_total", "Policies read, by result.", ("result",)
        )
        self.last_reload_success = Gauge(
            "kpolicy_policy_last_reload_success_timestamp_seconds",
            "Time when a policy last came into force.",
        )
        self.last_reload_successful = Gauge(
            "kpolicy_policy_last_reload_successful",
            "Whether the policy that was read last is in force.",
        )
        self.policy_last_good = Gauge(
            "kpolicy_policy_last_good",
            "1 while an earlier policy is in force because the newest one is bad.",
        )
        self.tenant_policies = Gauge(
            "kpolicy_tenant_policies",
            "Tenants by what is in force of their policies: the newest, an earlier one, or none.",
            ("state",),
        )
        self._after_cycles: dict[str, int] = defaultdict(int)
        self.registry = Registry(
            value for value in vars(self).values() if isinstance(value, Counter | Histogram)
        )

    def attempted(self, result: str, profile: str, seconds: float) -> None:
        self.attempts.add((result, profile))
        self.attempt_seconds.observe(seconds, (result, profile))

    def decided(self, decision: Timed) -> None:
        self.algorithm_seconds.observe(decision.took_ns / 1e9)

    def pre_bound(self, profile: str, seconds: float, *, succeeded: bool) -> None:
        """Count a pod whose volumes were all bound, or whose volumes could not be bound."""
        self._after_cycle("PreBind", "VolumeBinding", profile, seconds, succeeded=succeeded)
        self.volume_errors.add(("bind",), int(not succeeded))

    def bound(self, profile: str, seconds: float, *, succeeded: bool) -> None:
        self._after_cycle("Bind", "DefaultBinder", profile, seconds, succeeded=succeeded)

    def _after_cycle(
        self, point: str, plugin: str, profile: str, seconds: float, *, succeeded: bool
    ) -> None:
        status = "Success" if succeeded else "Error"
        self.extension_point_seconds.observe(seconds, (point, status, profile))
        # as many as for the engine's rules, so that sums over plugins can be compared
        if self._after_cycles[point] % SAMPLED_OF == 0:
            self.plugin_seconds.observe(seconds, (plugin, point, status))
        self._after_cycles[point] += 1

    def placed(self, attempts: int, waited_seconds: float, *, rescued: bool) -> None:
        label = str(attempts) if attempts <= _LABELLED_ATTEMPTS_MAX else "15+"
        self.sli_seconds.observe(waited_seconds, (label,))
        self.attempts_of_pod.observe(attempts)
        if rescued:
            self.rescued.add()

    def room_made(self, seconds: float, *, succeeded: bool) -> None:
        result = "success" if succeeded else "error"
        self.rooms.add((result,))
        self.room_seconds.observe(seconds, (result,))

    def reloaded(self, result: str, *, in_force: bool, now_ns: int) -> None:
        self.reloads.add((result,))
        self.last_reload_successful.set(int(in_force))
        if in_force:
            self.last_reload_success.set(now_ns / 1e9)

    def watch(
        self,
        name: str,
        kind: str,
        text: str,
        read: Callable[[], Mapping[Labels, float]],
        labels: Labels = (),
    ) -> None:
        """Register a number that is kept elsewhere; `read` is called at each scrape."""
        self.registry.register(Computed(Description(name, kind, text, labels), read))
