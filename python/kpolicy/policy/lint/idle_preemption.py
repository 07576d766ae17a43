"""KP352: what a policy says of preemption while it lets no pod be evicted."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kpolicy.diagnostics import Diagnostic, Edit, Fix
from kpolicy.policy.assembly.read_policy import Policy
from kpolicy.policy.yaml.nodes import Path, find

_AT: Final[Path] = ("spec", "preemption")


def idle_preemption(policy: Policy) -> Iterator[Diagnostic]:
    preemption = policy.model.spec.preemption
    if preemption is None or preemption.policy != "Never":
        return
    written = {
        "freesDevices": preemption.frees_devices,
        "victims": preemption.victims is not None,
        "order": preemption.order is not None,
    }
    for field, is_written in written.items():
        path = (*_AT, field)
        node = find(policy.tree, path)
        if not is_written or node is None:
            continue
        # The value alone is exchanged, so that the fix fits every layout.
        edits = (Edit(node.span, "false"),) if field == "freesDevices" else ()
        yield policy.remark(
            "KP352",
            f"`{field}` has no effect with `policy: Never`: no pod is evicted",
            path,
            hint="leave it out, or write `policy: LowerPriority`",
            fix=Fix(edits, keeps_program=False) if edits else None,
        )
