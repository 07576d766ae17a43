"""`kpolicy why` as text: what is so, on how many nodes for which reason, and what to do next."""

from __future__ import annotations

from kpolicy.offline.answers.why import Situation, Why
from kpolicy.offline.reports import explanation_text
from kpolicy.offline.reports.advice_text import advice_text
from kpolicy.offline.reports.columns import columns, counted
from kpolicy.offline.reports.devices_text import devices_text
from kpolicy.offline.reports.next_steps import gates_of, next_steps
from kpolicy.offline.snapshots.cluster_snapshot import scheduler_of
from kpolicy.offline.snapshots.json_objects import mapping_at


def why_text(
    why: Why, top: int = explanation_text.TOP, width: int = explanation_text.WIDTH
) -> list[str]:
    lines = _verdict(why)
    explained = why.explanation
    match why.situation:
        case Situation.PLACED | Situation.FITS:
            lines += advice_text(why.advice)
            lines += explanation_text.scores_text(explained, top, width)
            lines += explanation_text.rejections_text(explained.get("nodes", []))
            lines += devices_text(explained)
        case Situation.FITS_NOWHERE | Situation.MAKING_ROOM:
            if "preFilter" in explained:
                status = explained["preFilter"]
                lines += ["", f"  {', '.join(status['reasons'])} ({status['plugin']})"]
            else:
                lines += explanation_text.rejections_text(explained.get("nodes", []))
                lines += devices_text(explained)
            lines += explanation_text.preemption_text(explained.get("preemption"))
            lines += explanation_text.kept_back_text(explained)
            lines += advice_text(why.advice)
            lines += _steps(why)
            lines += explanation_text.waits_text(explained.get("waitsFor", ()))
        case Situation.GATED:
            lines += explanation_text.waits_text(explained.get("waitsFor", ()))
        case _:
            pass
    return [*lines, *_queue(why), "", f"judged by {why.judge}"]


def _verdict(why: Why) -> list[str]:
    explained, nodes = why.explanation, why.explanation.get("nodes", [])
    every = counted(len(nodes), "node")
    fitting = sum("total" in node for node in nodes)
    match why.situation:
        case Situation.ENDED:
            phase = mapping_at(why.pod, "status").get("phase")
            return [f"{why.key} has ended ({phase}); it was on {why.node or 'no node'}"]
        case Situation.LEAVING:
            return [f"{why.key} is pending and is being deleted: no scheduler will place it"]
        case Situation.GATED:
            return _held(why)
        case Situation.PLACED:
            return _placed(why, fitting, every)
        case Situation.FITS:
            return [
                (
                    f"{why.key} is pending, but {fitting:,} of {every} would take it now; "
                    f"{explained['selected']} is chosen"
                ),
                _not_tried(why),
            ]
        case Situation.MAKING_ROOM:
            node = why.nominated_node or explained["preemption"]["node"]
            return [f"{why.key} is pending: pods of lower priority would make room on {node}"]
        case Situation.FITS_NOWHERE:
            if not nodes:
                return [f"{why.key} is pending: {explained.get('message') or 'there are no nodes'}"]
            return [f"{why.key} is pending: none of {every} takes it"]


def _held(why: Why) -> list[str]:
    """Gates of the pod itself, a hold of the policy, or claims that are not ready."""
    if gates := gates_of(why.pod):
        return [
            f"{why.key} is pending: its scheduling gates hold it ({', '.join(gates)})",
            "whoever set them has to remove them; until then no scheduler looks at it",
        ]
    status = why.explanation["preEnqueue"]
    return [f"{why.key} is pending, and is not tried: {explanation_text.reasons(status)}"]


def _placed(why: Why, fitting: int, every: str) -> list[str]:
    line = f"{why.key} is on {why.node}"
    nodes = {node["name"]: node for node in why.explanation.get("nodes", [])}
    here, selected = nodes.get(why.node, {}), why.explanation.get("selected", "")
    if not selected:
        return [line, "if it were placed again now, no node would take it"]
    if here.get("total") is None:
        status = here.get("filter", {})
        reasons = ", ".join(status.get("reasons", ())) or "the node is gone"
        return [
            line,
            (
                f"if it were placed again now, {fitting:,} of {every} would take it, but not "
                f"{why.node}: {reasons}"
            ),
        ]
    total, best = here["total"], max(node.get("total", 0) for node in nodes.values())
    now = f"if it were placed again now, {fitting:,} of {every} would take it"
    if total == best:
        tied = len(why.explanation.get("best", ()))
        equal = f", as are {counted(tied - 1, 'other')}" if tied > 1 else ""
        return [line, f"{now}, and {why.node} is the best with {total:,}{equal}"]
    return [
        line,
        (
            f"{now}; {selected} is the best with {best:,}, and {why.node} has {total:,}: "
            "the cluster has changed since, or another scheduler chose"
        ),
    ]


def _not_tried(why: Why) -> str:
    scheduler = scheduler_of(why.pod)
    if why.condition:
        return f"when {scheduler} last tried it, it did not fit: {why.condition}"
    return f"no scheduler has tried it yet: is one running that serves `{scheduler}`?"


def _steps(why: Why) -> list[str]:
    rows = [[rule, text] for rule, text in next_steps(why)]
    return ["", "  what to do", *columns(rows, indent="    ")] if rows else []


def _queue(why: Why) -> list[str]:
    """The state of the queue of a running kpolicy."""
    state = why.queue
    if not state or state.get("lane") == "none":
        return []
    lines = [f"  in its queue: {state['lane']} for {state['sinceSeconds']:g} s"]
    lines[0] += f", tried {counted(state['attempts'], 'time')}"
    if "nextTrySecondsMax" in state:
        lines[0] += f", tried again within {state['nextTrySecondsMax']:g} s"
    return ["", *lines]
