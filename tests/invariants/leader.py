"""I8: there is one leader. A replica does not bind after its lease has expired or another replica
has taken it.

Reads the writes to the lease. The end of the lease's holder identity is the beginning of the
replica's decision ids. All times are the API server's. While the server was stopped, no time passed
for it, so it cannot tell when a bind was sent that it received afterwards. A test that stops the
server has to check that the old leader has ended.
"""

from __future__ import annotations

from collections.abc import Iterator

from tests.invariants.history import BINDING, LEASE, SECOND_NS, History, Violation

NAME = "I8"


def leader(history: History) -> Iterator[Violation]:
    terms = history.terms
    longest_ns = round((terms.renew_deadline_s + terms.bind_timeout_s) * SECOND_NS)
    renewed_ns: dict[str, int] = {}
    holder = ""
    leases = [write for write in history.ours() if write.what == LEASE and write.succeeded]
    if not leases:  # without leader election every instance is a leader
        return
    writes = sorted(
        (write for write in history.ours() if write.what in (BINDING, LEASE)),
        key=lambda hold: hold.received_ns if hold.what == BINDING else hold.answered_ns,
    )
    for write in writes:
        if write.what == LEASE:
            if write.succeeded:
                holder = write.in_response("spec", "holderIdentity").rpartition("_")[2]
                renewed_ns[holder] = write.received_ns
            continue
        instance, at_ns = write.instance, write.received_ns
        who = f"{instance} bound {write.namespace}/{write.name}"
        if instance not in renewed_ns:
            yield Violation(NAME, at_ns, f"{who} and never led")
        elif (late_ns := _ran_ns(history, renewed_ns[instance], at_ns)) > longest_ns:
            late_s = late_ns / SECOND_NS
            yield Violation(NAME, at_ns, f"{who} {late_s:.1f} s after its last renewal")
        elif holder not in ("", instance):
            yield Violation(NAME, at_ns, f"{who} while {holder} led")


def _ran_ns(history: History, since_ns: int, until_ns: int) -> int:
    """How long the API server was running."""
    stood_ns = sum(
        max(0, min(standstill.ended_ns, until_ns) - max(standstill.began_ns, since_ns))
        for standstill in history.standstills
    )
    return until_ns - since_ns - stood_ns
