"""The expressions of all policies: of each by itself, and as those that extend it have them.

Owns which compiled expressions count for a rule: a policy that gives a param of its base another
value has the base's rules with that value. Assumes lineages. Must not know rules.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from kpolicy.diagnostics import Diagnostic, has_errors
from kpolicy.policy.expression_room import ExpressionRoom
from kpolicy.policy.expressions import Expressions
from kpolicy.policy.params import ParamValues
from kpolicy.policy.policies import Policy


class ExpressionSets:
    """`own` are those of each policy by itself, by name."""

    def __init__(self, lineages: Mapping[str, tuple[Policy, ...]], params: ParamValues) -> None:
        self.diagnostics: list[Diagnostic] = []
        room = ExpressionRoom()
        self.own: dict[str, Expressions] = {}
        self._inherited: dict[tuple[str, str], Expressions] = {}
        values = {}
        wrong = set()
        of_heirs = _params_of_heirs(lineages.values())
        for name, line in lineages.items():
            values[name], said = params.of(line, of_heirs)
            if has_errors(tuple(said)):
                wrong.add(name)
            # What only others build on gets its values from them.
            if line[0].model.spec.profiles or not _is_extended(line[0], lineages):
                self.diagnostics += said
            self.own[name] = Expressions(line[0], line, values[name], room)
        for name, line in lineages.items():
            if name in wrong:
                continue
            for index, base in enumerate(line[1:], start=1):
                seen = {key: values[name].get(key) for key in values[base.name]}
                if seen != values[base.name]:
                    others = Expressions(base, line[index:], values[name], room)
                    self._inherited[name, base.name] = others
        for one in (*self.own.values(), *self._inherited.values()):
            self.diagnostics += one.diagnostics

    def of(self, heir: str, policy: str) -> Expressions:
        """Those of `policy` as `heir` has them, which is or extends it."""
        return self._inherited.get((heir, policy)) or self.own[policy]


def _params_of_heirs(lineages: Iterable[Sequence[Policy]]) -> dict[str, set[str]]:
    """By policy: what it and those that extend it declare, with all that these extend."""
    found: dict[str, set[str]] = {}
    for line in lineages:
        declared = {name for policy in line for name in policy.model.spec.params}
        for policy in line:
            found.setdefault(policy.name, set()).update(declared)
    return found


def _is_extended(policy: Policy, lineages: Mapping[str, Sequence[Policy]]) -> bool:
    return any(policy in line[1:] for line in lineages.values())
