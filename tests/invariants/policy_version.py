"""I11: a decision uses one policy, which compiled; after a bad policy the last good one stays in
force.

Checks the order in which each instance moves through the offered policies: a process that started
later and asked later has decided later. A pod that waits for its volumes asks late, so it proves
nothing about those that started after it. The check needs the offers; without them it proves
nothing.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from tests.invariants.history import DECISION_ID, POLICY_HASH, History, Violation, Write
from tests.invariants.timeline import Timeline

NAME = "I11"


def policy_version(history: History, timeline: Timeline) -> Iterator[Violation]:
    offers = [offer for offer in history.policies if offer.hash]
    if not offers:
        return
    # For each instance: the offers that it used, each with the number of its first decision.
    first: dict[str, dict[int, int]] = defaultdict(dict)
    # The log has no body of a request that was refused before it was read (403).
    read = (bind for bind in history.binds() if bind.request is not None)
    binds = [(timeline.decision(bind).at_ns, _number(bind), bind) for bind in read]
    for decided_ns, number, bind in sorted(binds, key=lambda offer: offer[:2]):
        used = bind.in_request("metadata", "annotations", POLICY_HASH)
        who = f"{bind.namespace}/{bind.name} by {bind.instance}"
        known = [at for at, offer in enumerate(offers) if offer.hash == used]
        offered = [at for at in known if offers[at].at_ns <= decided_ns]
        if not offered:
            text = f"{who} rests on the policy {used or 'without a hash'}, which nobody offered"
            yield Violation(NAME, decided_ns, text)
            continue
        earlier = (at for at, began in first[bind.instance].items() if began < number)
        newest = max(earlier, default=0)
        onward = [at for at in offered if at >= newest]
        if not onward:
            text = f"{who} rests on {used}, after a newer policy was in force there"
            yield Violation(NAME, decided_ns, text)
            continue
        numbers = first[bind.instance]
        numbers[onward[0]] = min(number, numbers.get(onward[0], number))


def _number(bind: Write) -> int:
    decision = bind.in_request("metadata", "annotations", DECISION_ID)
    number = decision.rpartition("-")[2]
    return int(number) if number.isdigit() else 0
