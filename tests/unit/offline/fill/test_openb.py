"""Files of openb are read as they are, or not at all, with a code and the line."""

from __future__ import annotations

from pathlib import Path

import pytest

from kpolicy.offline.fill.openb import DEFAULT_PODS, NODES_FILE, pods_file, read_openb
from kpolicy.offline.fill.trace import Trace, TraceNode, TracePod
from kpolicy.offline.snapshots.snapshot_problem import Problem

NODES = "sn,cpu_milli,memory_mib,gpu,model\nn-0,64000,262144,2,P100\nn-1,32000,131072,0,\n"
PODS = (
    "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos\n"
    "p-0,12000,16384,1,1000,,LS\n"
    "p-1,6000.0,12288,1,460,V100M16|V100M32,LS\n"
    "p-2,4000,8192,0,0,,BE\n"
)


def folder_with(folder: Path, *, nodes: str = NODES, pods: str = PODS) -> Path:
    (folder / NODES_FILE).write_text(nodes)
    (folder / pods_file(DEFAULT_PODS)).write_text(pods)
    return folder


def test_nodes_and_pods_are_read(tmp_path: Path) -> None:
    trace = read_openb(folder_with(tmp_path))
    assert isinstance(trace, Trace)
    assert trace.nodes == (
        TraceNode("n-0", 64_000, 262_144, 2, "P100"),
        TraceNode("n-1", 32_000, 131_072, 0),
    )
    assert trace.pods == (
        TracePod(12_000, 16_384, 1, 1000),
        TracePod(6_000, 12_288, 1, 460, ("V100M16", "V100M32")),
        TracePod(4_000, 8_192, 0, 0),
    )
    assert trace.capacity_milli == 2000
    assert sum(pod.demand_milli for pod in trace.pods) == 1460


def test_the_files_may_be_in_a_folder_csv(tmp_path: Path) -> None:
    (tmp_path / "csv").mkdir()
    folder_with(tmp_path / "csv")
    assert isinstance(read_openb(tmp_path), Trace)


def test_a_variant_with_fewer_columns_is_read(tmp_path: Path) -> None:
    folder_with(tmp_path)
    few = "name,cpu_milli,memory_mib,num_gpu,gpu_milli\np,1,1,2,1000\n"
    (tmp_path / pods_file("multigpu20")).write_text(few)
    trace = read_openb(tmp_path, "multigpu20")
    assert isinstance(trace, Trace)
    assert trace.pods == (TracePod(1, 1, 2, 1000),)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    problem = read_openb(tmp_path)
    assert isinstance(problem, Problem)
    assert (problem.code, problem.source) == ("NotReadable", str(tmp_path / NODES_FILE))
    folder_with(tmp_path)
    problem = read_openb(tmp_path, "cpu9")
    assert isinstance(problem, Problem)
    assert problem.source == str(tmp_path / "openb_pod_list_cpu9.csv")


@pytest.mark.parametrize(
    ("files", "code", "found"),
    [
        (("name,cpu\n", PODS), "WrongHeader", "line 1: the first line lacks sn, cpu_milli"),
        (("", PODS), "WrongHeader", "line 1: the first line lacks sn"),
        ((NODES + "n-2,1,1,1\n", PODS), "BadRow", "line 4: it has not 5 values"),
        ((NODES + "n-2,1,1,1,A,x\n", PODS), "BadRow", "line 4: it has not 5 values"),
        ((NODES + "n-2,x,1,1,A\n", PODS), "BadRow", "line 4: `cpu_milli` is 'x', no number"),
        ((NODES + ",1,1,1,A\n", PODS), "BadRow", "line 4: `sn` is empty"),
        ((NODES, PODS + "p,1,1,-1,1,,\n"), "BadRow", "line 5: `num_gpu` is '-1', no whole"),
        ((NODES, PODS + "p,1,nan,0,0,,\n"), "BadRow", "line 5: `memory_mib` is 'nan'"),
        ((NODES, PODS + "p,1,1,1,1001,,\n"), "BadRow", "line 5: `gpu_milli` is 1001, more"),
        ((NODES, PODS + "p,1,1,2,500,,\n"), "BadRow", "line 5: 2 GPUs are asked for, and 500"),
    ],
)
def test_a_bad_line_is_named(files: tuple[str, str], code: str, found: str, tmp_path: Path) -> None:
    nodes, pods = files
    problem = read_openb(folder_with(tmp_path, nodes=nodes, pods=pods))
    assert isinstance(problem, Problem)
    assert problem.code == code
    assert f"{problem.object}: {problem.message}".startswith(found)
