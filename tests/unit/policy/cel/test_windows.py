"""Time windows of expressions: what compiling finds, and that the engine agrees."""

from __future__ import annotations

import json

import pytest

from kpolicy.engine import evaluate_expression
from kpolicy.policy.cel import Environment, compile_expression
from kpolicy.policy.cel.windows import cron_trouble, zone_trouble

GOOD = (
    "* * * * *",
    "0 22 * * 1-5",
    "*/15 0-6,22-23 1,15 JAN-mar MON",
    "5/10 ? ? * sun",
    "@daily",
    "  0  0 * * *  ",
    "0 0 31 2 *",
)
BAD = (
    "",
    "* * * *",
    "* * * * * *",
    "60 * * * *",
    "* 24 * * *",
    "* * 0 * *",
    "* * * 13 *",
    "* * * * 7",
    "5-1 * * * *",
    "*/0 * * * *",
    "+1 * * * *",
    "1- * * * *",
    "a * * * *",
    "1,,2 * * * *",
    "@every 5m",
    "* * * * MONDAY",
    "1/2/3 * * * *",
    "001 * * * *",
    "0 " + "1," * 200 + "1 * * *",
)
ZONES = ("UTC", "", "Europe/Berlin", "America/Argentina/Buenos_Aires", "+02:00", "-8:30")
NO_ZONES = ("Europe/Berlni", "europe/berlin", "Mars/Base", "CET DST", "2h")


def in_engine(cron: str, zone: str = "UTC") -> dict[str, object]:
    text = "timestamp('2026-11-27T23:00:00Z').within(cron, duration('1h'), zone)"
    inputs = {"cron": "string", "zone": "string"}
    from kpolicy.policy.cel import Type

    environment = Environment(inputs={name: Type(kind) for name, kind in inputs.items()})
    compiled = compile_expression(text, environment=environment)
    values = json.dumps({"cron": cron, "zone": zone}).encode()
    answer: dict[str, object] = json.loads(evaluate_expression(compiled.ir_bytes(), values))
    return answer


@pytest.mark.parametrize("cron", GOOD)
def test_what_both_read(cron: str) -> None:
    assert cron_trouble(cron) == ""
    assert "value" in in_engine(cron)


@pytest.mark.parametrize("cron", BAD)
def test_what_both_refuse(cron: str) -> None:
    assert cron_trouble(cron) != ""
    error = in_engine(cron)["error"]
    assert isinstance(error, dict)
    assert error["message"] == f"invalid cron expression: {cron}"


def test_zones() -> None:
    assert [zone for zone in ZONES if zone_trouble(zone)] == []
    assert [zone for zone in NO_ZONES if not zone_trouble(zone)] == []
    assert "Europe/Berlin" in zone_trouble("Europe/Berlni")
    assert all("value" in in_engine("@daily", zone) for zone in ZONES)
    assert all("error" in in_engine("@daily", zone) for zone in NO_ZONES)


def test_a_bad_literal_is_found_while_compiling_at_its_place() -> None:
    text = "now.within('0 22 * * 7', duration('30s'), 'Nowhere')"
    found = compile_expression(text).diagnostics
    shown = [(d.code, text[d.span.start : d.span.end], bool(d.hint)) for d in found if d.span]
    assert shown == [
        ("KP207", "'0 22 * * 7'", True),
        ("KP207", "duration('30s')", True),
        ("KP207", "'Nowhere'", True),
    ]
    assert "Sunday is 0" in found[0].message


def test_now_is_a_timestamp() -> None:
    good = compile_expression("now - timestamp('2026-01-01T00:00:00Z') > duration('1h')")
    assert good.diagnostics == ()
    assert good.reads == (("now", ()),)
    [finding] = compile_expression("now.hour > 3").diagnostics
    assert (finding.code, finding.message) == ("KP205", "timestamp has no fields, so no `hour`")
