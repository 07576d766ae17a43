"""The compiler's bound of cost is never below what the engine charges."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from kpolicy import Snapshot
from kpolicy.engine import Engine, expression_facts
from kpolicy.policy.cel import Environment, compile_expression, prices
from kpolicy.policy.cel.calls import FAMILIES
from kpolicy.policy.cel.cost import price
from kpolicy.policy.cel.facts import ATTRIBUTES_MAX, NODE_DEVICES_MAX, NODE_SLICES_MAX
from kpolicy.testing import node, pod
from tests.unit.policy.cel.cost_expressions import Expressions
from tests.unit.policy.cel.fact_reads import fact_reads

EXPRESSIONS = 4_000
# At least so many of them compile, and so many of these give a value.
COMPILED_MIN = 3_000
VALUES_MIN = 1_200
READS_MIN = 100
NO_LIMIT = 2**62
RUST = Path(__file__).parents[4] / "rust"


def snapshot() -> list[dict[str, Any]]:
    """Objects as large as the bound assumes, in a few respects."""
    long = "a,b-c9" * 600
    taints = [{"key": f"example.com/k{index}", "effect": "NoSchedule"} for index in range(30)]
    tolerations = [{"key": f"k{index}", "operator": "Exists"} for index in range(60)]
    labels = {f"l{index}": "v" * 60 for index in range(100)} | {"zone": "z1", "app": "web"}
    there = node("n1", cpu="64", labels=labels, taints=taints)
    there["metadata"]["annotations"] = {"long": long}
    pending = pod("w", labels=labels, tolerations=tolerations, priority=40)
    pending["metadata"]["annotations"] = {"long": long}
    placed = [
        pod(f"p{index}", node_name="n1", cpu="1m", labels={"app": "web", "i": str(index)})
        for index in range(100)
    ]
    return [there, pending, *placed, *devices_and_their_class()]


def devices_and_their_class() -> list[dict[str, Any]]:
    """As many devices on the node as the bound assumes, no two of them alike."""
    driver = "gpu.example.com"
    selector = f"device.attributes['{driver}'].a0 < 1 || device.attributes['{driver}'].a1 < 0"

    def device(index: int) -> dict[str, Any]:
        attributes = {f"a{number}": {"int": index + number} for number in range(ATTRIBUTES_MAX)}
        return {"name": f"d{index}", "attributes": attributes}

    def device_slice(number: int) -> dict[str, Any]:
        pool = {"name": f"pool-{number}", "generation": 1, "resourceSliceCount": 1}
        share = NODE_DEVICES_MAX // NODE_SLICES_MAX
        devices = [device(index) for index in range(number * share, (number + 1) * share)]
        spec = {"driver": driver, "nodeName": "n1", "pool": pool, "devices": devices}
        return {**of_kind("ResourceSlice", f"slice-{number}"), "spec": spec}

    gpu_class = of_kind("DeviceClass", "gpu")
    gpu_class["spec"] = {"selectors": [{"cel": {"expression": selector}}]}
    # Late arguments of facts are the name of the node.
    named_as_the_node = {**gpu_class, **of_kind("DeviceClass", "n1")}
    return [gpu_class, named_as_the_node, *map(device_slice, range(NODE_SLICES_MAX))]


def of_kind(kind: str, name: str) -> dict[str, Any]:
    metadata = {"name": name, "uid": f"{kind}-{name}"}
    return {"apiVersion": "resource.k8s.io/v1", "kind": kind, "metadata": metadata}


@pytest.fixture(scope="module")
def engine() -> Engine:
    return Snapshot.of(snapshot()).engine()


def spent(engine: Engine, ir: dict[str, Any]) -> tuple[int, bool]:
    """The units of one evaluation, and whether it gave a value."""
    request = {"ir": ir, "variables": {}, "pod": "default/w", "node": "n1", "trace": True}
    answer = json.loads(engine.evaluate(json.dumps(request).encode("utf-8", "surrogatepass"), 0))
    assert "refused" not in answer, answer
    return answer["spent"], "value" in answer


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2])
def test_random_expressions_never_cost_more_than_the_bound(engine: Engine, seed: int) -> None:
    expressions = Expressions(seed)
    environment = Environment(cost_max=NO_LIMIT, warnings=False)
    compiled, values, above = 0, 0, []
    for _ in range(EXPRESSIONS):
        text = expressions.next()
        found = compile_expression(text, environment=environment)
        if found.ir is None:
            continue
        units, is_value = spent(engine, found.ir)
        compiled += 1
        values += is_value
        if units > found.cost:
            above.append((units, found.cost, text))
    assert not above, "\n".join(map(str, sorted(above, key=lambda each: len(each[2]))[:20]))
    assert compiled >= COMPILED_MIN
    assert values >= VALUES_MIN
    assert {family.id for family in FAMILIES} <= expressions.used


def test_reading_any_fact_never_costs_more_than_the_bound(engine: Engine) -> None:
    environment = Environment(cost_max=NO_LIMIT, warnings=False)
    reads, above = 0, []
    for text in fact_reads():
        found = compile_expression(text, environment=environment)
        assert found.ir is not None, (text, found.diagnostics)
        units, _ = spent(engine, found.ir)
        reads += 1
        if units > found.cost:
            above.append((units, found.cost, text))
    assert not above, "\n".join(map(str, above))
    assert reads >= READS_MIN


def test_counting_devices_is_charged_by_what_the_selectors_of_the_class_take() -> None:
    items = ", ".join(map(str, range(64)))
    dear = of_kind("DeviceClass", "dear")
    text = f"[{items}].all(item, item + device.attributes['gpu.example.com'].a0 >= 0)"
    dear["spec"] = {"selectors": [{"cel": {"expression": text}}]}
    engine = Snapshot.of([*snapshot(), dear]).engine()
    found = compile_expression("node.devices.countOfClass('dear')")
    assert found.ir is not None
    units, is_value = spent(engine, found.ir)
    assert is_value
    assert units > NODE_DEVICES_MAX * 64 * 2


def test_the_price_of_every_fact_is_the_engine_s() -> None:
    charged = {name: units for name, *_, units in expression_facts()}
    assert {name: price(name) for name in charged} == charged
    assert len(charged) >= READS_MIN


def test_the_table_of_prices_is_the_engine_s() -> None:
    declared = re.compile(r"const ([A-Z_]+): (?:u64|usize) = ([\d_]+);")
    table = dict(declared.findall((RUST / "kpolicy-cel/src/prices.rs").read_text()))
    judging = dict(declared.findall((RUST / "kpolicy-engine/src/rules/prices.rs").read_text()))
    of_facts = (
        "PODS_COUNT",
        "PODS_SUM",
        "DOMAIN_SUM",
        "NODES_A_UNIT",
        "IDENTITIES_A_UNIT",
        "POD_MATCHED",
        "IMAGE_NAMES_A_UNIT",
    )
    table |= {name: judging[name] for name in of_facts}
    work = dict(declared.findall((RUST / "kpolicy-engine/src/rules/devices/work.rs").read_text()))
    of_devices = ("DEVICE", "ENTRIES_SEARCHED", "SLICE", "SLICES_COMPARED")
    table |= {name: work[name] for name in of_devices}
    engine = {name: int(value) for name, value in table.items()}
    own = {name: value for name, value in vars(prices).items() if name.isupper()}
    assert own == engine
    assert len(own) > 15
