"""Reports about a policy: conditions, texts of events, the status and /configz."""

from __future__ import annotations

import json

from kpolicy.diagnostics import Diagnostic, Place, Severity
from kpolicy.policy.assembly.assemble import Program, ProgramProfile
from kpolicy.policy.yaml.source import Source
from kpolicy.scheduler import limits
from kpolicy.scheduler.delivery.policy_report import conditions, document, notice, refused
from kpolicy.scheduler.loop.reload import InForce, Reloaded
from kpolicy.scheduler.problem_codes import Problem

PROGRAM = Program("sha256:abc", b"{}", ("mine",), (ProgramProfile("kpolicy", ()),))
NOW = InForce(PROGRAM, 3, 1_700_000_000_000_000_000, (Source("p.yaml", "\u00e9"),))
KEPT = InForce(PROGRAM, 3, 1_700_000_000_000_000_000, (), is_last_good=True)
LOADED = Reloaded("loaded", at_ns=1_700_000_001_000_000_000)


def error(number: int) -> Diagnostic:
    place = Place("configmap/a/b/policy.yaml", number, 5, number, 9)
    return Diagnostic(
        "KP102", Severity.ERROR, f"unknown field `f{number}`", "leave it", place=place
    )


def invalid(count: int) -> Reloaded:
    problem = Problem("KPS102", f"the policy has {count} errors")
    return Reloaded("invalid", tuple(map(error, range(1, count + 1))), problem, 1)


def test_conditions_tell_what_is_wanted_from_what_is_in_force() -> None:
    def shown(last: Reloaded, now: InForce | None) -> list[tuple[str, bool, str]]:
        return [
            (condition.type, condition.is_true, condition.reason)
            for condition in conditions(last, now)
        ]

    assert shown(LOADED, NOW) == [("Accepted", True, "Compiled"), ("Active", True, "InForce")]
    assert shown(invalid(1), NOW) == [
        ("Accepted", False, "Invalid"),
        ("Active", True, "LastGoodKept"),
    ]
    assert shown(invalid(1), None)[1] == ("Active", False, "NoPolicy")


def test_an_event_has_the_first_findings_with_place_code_and_hint() -> None:
    notice_ = notice(invalid(9), NOW)
    assert notice_ is not None
    assert (notice_.kind, notice_.reason) == ("Warning", "PolicyRejected")
    first = "configmap/a/b/policy.yaml:1:5: KP102 unknown field `f1` (leave it)"
    assert notice_.note.startswith(first)
    assert "`f3`" in notice_.note
    assert "`f4`" not in notice_.note
    assert "and 6 more" in notice_.note
    assert notice_.note.endswith("stays in force")


def test_every_outcome_has_its_reason_and_nothing_new_has_none() -> None:
    gone = Reloaded("unreadable", problem=Problem("KPS101", "there is no ConfigMap a/b"))
    reasons = {
        name: sent.reason if (sent := notice(last, now)) is not None else None
        for name, last, now in (
            ("loaded", LOADED, NOW),
            ("unchanged", Reloaded("unchanged"), NOW),
            ("gone", gone, NOW),
            ("kept at a restart", invalid(1), KEPT),
        )
    }
    assert reasons == {
        "loaded": "PolicyAccepted",
        "unchanged": None,
        "gone": "PolicyUnreadable",
        "kept at a restart": "LastGoodPolicyUsed",
    }


def test_the_status_is_bounded_and_says_where_the_policy_came_from() -> None:
    written = document(invalid(60), NOW, {"Accepted": 1_600_000_000_000_000_000}, "me")
    assert len(written["diagnostics"]) == limits.DIAGNOSTICS_TOLD_MAX
    assert written["diagnostics"][0]["line"] == 1
    assert written["conditions"][0]["lastTransitionTime"].startswith("2020-09-13T12:26:40")
    assert written["active"]["sources"][0]["bytes"] == 2
    assert json.loads(json.dumps(written)) == written


def test_what_was_refused_last_is_shown_and_a_good_one_is_not_refused() -> None:
    assert refused(None) is None
    assert refused(LOADED) is None
    shown = refused(invalid(2))
    assert shown is not None
    assert (shown["code"], len(shown["diagnostics"])) == ("KPS102", 2)
