"""The comparison of six policies, on a made-up trace and beside figures of others."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benches.fill import authors
from benches.fill.command import SIX, main, seeds_of
from kpolicy.offline.fill.synthetic import write_synthetic
from kpolicy.offline.sweeps.trace_cells import allocation


def test_all_six_fill_a_made_up_trace(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--seeds", "1..2", "--output", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [outcome["policy"] for outcome in found] == list(SIX)
    allocated = {each["policy"]: each["figures"][allocation(100)]["mean"] for each in found}
    # Of so few nodes best fit leaves hardly less of use.
    compared = ("random", "clustering", "packing", "gpus-least-fragmentation")
    assert sorted(compared, key=lambda policy: allocated[policy]) == list(compared)


def test_the_results_of_others_stand_beside(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_synthetic(tmp_path, nodes=2, pods=5)
    (tmp_path / authors.FOLDER).mkdir()
    (tmp_path / authors.FOLDER / "analysis_allo_discrete.csv").write_text(
        "workload,sc_policy,tune,seed,total_gpus,100\n"
        "openb_pod_list_default,06-FGD,1.3,42,6212,50\n"
        "openb_pod_list_default,06-FGD,1.3,43,6212,60\n"
        "openb_pod_list_default,05-BestFit,1.3,42,6212,1\n"
        "openb_pod_list_cpu050,06-FGD,1.3,42,6212,2\n"
    )
    words = ["--trace", f"openb:{tmp_path}", "--policy", "gpus-least-fragmentation", "--seeds", "1"]
    assert main(words) == 0
    assert " 55.00 " in capsys.readouterr().out
    assert authors.fragments(tmp_path, "default", "gpus-least-fragmentation", 100) is None


def test_what_cannot_be_read_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--trace", f"openb:{tmp_path}"]) == 2
    assert capsys.readouterr().err.startswith("NotReadable: ")
    assert main(["--trace", "philly:x"]) == 2
    assert capsys.readouterr().err.startswith("UnknownTrace: philly:x")
    assert main(["--policy", str(tmp_path / "none.yaml")]) == 2
    assert "none.yaml" in capsys.readouterr().err


def test_seeds_are_a_range() -> None:
    assert list(seeds_of("3..5")) == [3, 4, 5]
    assert list(seeds_of("7")) == [7]
