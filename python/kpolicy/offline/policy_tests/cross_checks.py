"""The rules of a profile compared with cel-python, on the nodes of a test's cluster."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from kpolicy.engine import Engine
from kpolicy.offline.answers.cross_check import CrossCheck, cross_check
from kpolicy.offline.answers.evaluate import Evaluating
from kpolicy.offline.answers.policy_names import PolicyNames, profile_expressions
from kpolicy.offline.limits import CROSS_CHECKED_NODES_MAX
from kpolicy.offline.policy_tests.results import CrossChecked, Mismatch
from kpolicy.policy.compile import Examined


@dataclass(slots=True)
class CrossChecks:
    """Collects what the comparisons of one test gave: each difference once a rule."""

    examined: Examined
    profile: str
    compared: int = 0
    known: dict[str, None] = field(default_factory=dict)
    unknown: dict[str, Mismatch] = field(default_factory=dict)

    def compare(self, engine: Engine, pod: str, nodes: Sequence[str]) -> None:
        """Evaluates every expression of the profile for a pending pod, on the first nodes."""
        for place, names in profile_expressions(self.examined, self.profile):
            evaluating = Evaluating(names=names, engine=engine)
            for node in nodes[:CROSS_CHECKED_NODES_MAX]:
                check = _on_node(evaluating, names, pod, node)
                self.compared += bool(check.compared)
                self._note(place, node, check)

    def _note(self, place: str, node: str, check: CrossCheck) -> None:
        difference = check.difference
        if difference is None:
            return
        if difference.known is not None:
            self.known[f"{place}: {difference}"] = None
            return
        what = f"cross-check of {place} on {node}, `{difference.part}`"
        mismatch = Mismatch(what, f"cel-python: {difference.theirs}", f"kpolicy: {difference.ours}")
        self.unknown.setdefault(f"{place} {difference.part}", mismatch)

    def result(self) -> CrossChecked:
        return CrossChecked(self.compared, tuple(self.known))


def _on_node(evaluating: Evaluating, names: PolicyNames, pod: str, node: str) -> CrossCheck:
    return cross_check(names.expression, lambda part: evaluating.evaluate(part, pod=pod, node=node))
