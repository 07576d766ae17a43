"""The settings of `kpolicy run`: which source comes first, and mistakes in a source."""

from __future__ import annotations

import argparse
import json
import re
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from kpolicy.cli import main
from kpolicy.cli.verb import CannotWorkError
from kpolicy.cli.verbs import run
from kpolicy.cli.verbs.run import delivery_of
from kpolicy.cli.verbs.run_settings import (
    ARGUMENTS,
    RunSettings,
    settings_of_file,
    settled,
    unknown_variables,
)
from kpolicy.clock import SystemClock
from kpolicy.engine_threads import ENGINE_THREADS_MAX
from kpolicy.policy.authority import UNLIMITED, Authority
from kpolicy.policy.yaml.source import Source
from kpolicy.scheduler.delivery.sources import FileSource, FixedSource
from kpolicy.scheduler.options import (
    ConfigMapName,
    Options,
    SchedulerConfiguration,
    read_configuration,
)
from kpolicy.scheduler.problem_codes import Problem

HEAD = "apiVersion: kpolicy.dev/v1alpha1\nkind: SchedulerConfiguration\n"


def flags(*arguments: str) -> dict[str, Any]:
    parser = argparse.ArgumentParser()
    for argument in ARGUMENTS:
        parser.add_argument(*argument.names, **argument.options)
    return vars(parser.parse_args(arguments))


def settings_of(
    tmp_path: Path, *arguments: str, file: str = "", **environ: str
) -> tuple[RunSettings, dict[str, str]]:
    path = tmp_path / "config.yaml"
    path.write_text(HEAD + file)
    return settled(flags(*arguments), environ, settings_of_file(path))


def test_flags_come_before_variables_before_the_file_before_defaults(tmp_path: Path) -> None:
    file = "leaseName: of-file\nport: 1\nlogLevel: debug\nleaderElect: false\nseed: 7\n"
    settings, origins = settings_of(
        tmp_path,
        "--lease-name=of-flag",
        file=file,
        KPOLICY_LEASE_NAME="of-variable",
        KPOLICY_PORT="2",
        KPOLICY_LEADER_ELECT="yes",
    )
    assert (settings.lease_name, origins["lease_name"]) == ("of-flag", "flag")
    assert (settings.port, origins["port"]) == (2, "variable")
    assert (settings.log_level, origins["log_level"]) == ("debug", "file")
    assert (settings.leader_elect, settings.seed) == (True, 7)
    assert (settings.bind_address, "bind_address" in origins) == ("127.0.0.1", False)
    shown = settings.shown(origins)
    assert shown["port"] == {"value": 2, "from": "variable"}
    assert shown["bind_address"]["from"] == "default"
    json.dumps(shown)


def test_every_flag_is_a_variable_and_a_key_of_the_file(tmp_path: Path) -> None:
    names = [field.name for field in fields(RunSettings)]
    assert len(names) >= 18
    keys = set(SchedulerConfiguration.model_fields) - {"api_version", "kind"}
    assert keys == set(names)
    parsed = flags()
    assert set(parsed) == set(names) - {"params"}
    assert set(parsed.values()) == {None}, "what is not given is left to the others"
    numbers = {"port", "seed", "engine_threads", "traces_per_second", "kept_traces_per_second"}
    numbers |= {"tenant_weight", "binds_in_flight", "flush_after", "flush_period"}
    numbers |= {"lease_duration", "lease_renew_deadline", "lease_retry_period"}
    numbers |= {"pod_initial_backoff", "pod_max_backoff", "plugin_timeout"}
    for name in set(names) - numbers - {"params", "once", "leader_elect", "feature_gates"}:
        word = {"log_format": "json", "log_level": "error", "auth": "token"}.get(name, "word")
        word = {"extender_hosts": "a:1", "extender_pod_fields": "args"}.get(name, word)
        word = {"release": "1.36", "journal_size": "2Gi"}.get(name, word)
        settings, origins = settled({}, {f"KPOLICY_{name.upper()}": word}, {})
        assert origins == {name: "variable"}
        assert word in str(getattr(settings, name))


def test_feature_gates_are_read_as_kube_scheduler_reads_them(tmp_path: Path) -> None:
    gates = {"VolumeLimitScaling": True, "NodeDeclaredFeatures": False}
    written = "VolumeLimitScaling=true,NodeDeclaredFeatures=f"
    settings, _ = settled({}, {"KPOLICY_FEATURE_GATES": written}, {})
    assert settings.feature_gates == gates
    text = "featureGates: {VolumeLimitScaling: true, NodeDeclaredFeatures: false}\nrelease: auto\n"
    settings, _ = settings_of(tmp_path, file=text)
    assert (settings.feature_gates, settings.release) == (gates, "auto")


def test_paths_in_the_file_are_relative_to_it(tmp_path: Path) -> None:
    settings, _ = settings_of(
        tmp_path, file="policy: [a.yaml, /b]\nkubeconfig: k\nparams: {most: 3}\n"
    )
    assert settings.policy == (tmp_path / "a.yaml", Path("/b"))
    assert settings.kubeconfig == tmp_path / "k"
    assert settings.params == {"most": 3}


def test_a_service_called_kpolicy_does_not_set_the_port() -> None:
    """Kubelet gives every pod of the namespace such variables (docker links)."""
    settings, _ = settled({}, {"KPOLICY_PORT": "tcp://10.0.0.7:10259"}, {})
    assert settings.port == 10259


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("KPOLICY_PORT", "http", "KPOLICY_PORT: `http` is not a whole number"),
        ("KPOLICY_LEADER_ELECT", "perhaps", "is neither true nor false"),
        ("KPOLICY_LOG_LEVEL", "loud", "`loud` is not one of debug, info, warning, error"),
        ("KPOLICY_PARAM", "most", "KPOLICY_PARAM: write NAME=JSON"),
    ],
)
def test_a_variable_that_makes_no_sense_is_named(name: str, value: str, message: str) -> None:
    with pytest.raises(CannotWorkError, match=re.escape(message)):
        settled({}, {name: value}, {})


def test_a_slip_in_a_variables_name_is_reported() -> None:
    environ = {"KPOLICY_LOG_FROMAT": "json", "KPOLICY_CUSTOM": "theirs", "KPOLICY_CONFIG": "x"}
    assert unknown_variables(environ) == [
        "kpolicy does not know the variable KPOLICY_LOG_FROMAT; did you mean `KPOLICY_LOG_FORMAT`?"
    ]


def test_policies_come_from_one_place(tmp_path: Path) -> None:
    with pytest.raises(CannotWorkError, match="--policy and --policy-configmap exclude each other"):
        settings_of(tmp_path, "--policy=p.yaml", "--policy-configmap=a/b")
    settings, _ = settings_of(tmp_path, "--policy=p.yaml", file="policyConfigmap: a/b\n")
    assert (settings.policy, settings.policy_configmap) == ((Path("p.yaml"),), "")
    settings, _ = settings_of(tmp_path, file="policy: [p.yaml]\n", KPOLICY_POLICY_CONFIGMAP="a/b")
    assert (settings.policy, settings.policy_configmap) == ((), "a/b")


def test_names_become_sources() -> None:
    clock = SystemClock()
    delivered = delivery_of(
        RunSettings(policy_configmap="mine#k", scheduler_names=("a",)), "own", clock
    )
    assert not isinstance(delivered, Problem)
    assert delivered.policies == ConfigMapName("own", "mine", "k")
    assert delivered.keeping.status == ConfigMapName("own", "mine-status")
    assert delivered.shadow is None
    settings = RunSettings(
        policy_configmap="a/mine",
        scheduler_names=("a",),
        policy_status="none",
        shadow_policy_configmap="a/next",
    )
    delivered = delivery_of(settings, "own", clock)
    assert not isinstance(delivered, Problem)
    assert (delivered.keeping.status, delivered.shadow) == (None, ConfigMapName("a", "next"))
    delivered = delivery_of(RunSettings(policy=(Path("p"),), policy_status="a/s"), "own", clock)
    assert not isinstance(delivered, Problem)
    assert isinstance(delivered.policies, FileSource)
    assert delivered.keeping.status == ConfigMapName("a", "s")
    delivered = delivery_of(RunSettings(), "own", clock)
    assert not isinstance(delivered, Problem)
    assert isinstance(delivered.policies, FixedSource)
    problem = delivery_of(RunSettings(policy_configmap="A/b"), "own", clock)
    assert isinstance(problem, Problem)
    assert problem.message.startswith("--policy-configmap: `A/b`")


def authority_of(**settings: Any) -> Authority | Problem:
    delivered = delivery_of(RunSettings(**settings), "own", SystemClock())
    return delivered if isinstance(delivered, Problem) else delivered.authority


def test_policies_in_files_may_do_anything_unless_it_is_limited() -> None:
    assert authority_of() == authority_of(policy=(Path("p"),)) == UNLIMITED
    limited = authority_of(
        policy=(Path("p"),),
        scheduler_names=("a", "b"),
        extender_hosts=("X:1",),
        certificate_folder=Path("/c/./d"),
    )
    assert limited == Authority(frozenset({"a", "b"}), frozenset({"x:1"}), "/c/d")


def test_policies_in_config_maps_may_do_nothing_unless_it_is_allowed() -> None:
    problem = authority_of(policy_configmap="a/b")
    assert isinstance(problem, Problem)
    assert (problem.code, "--scheduler-names" in problem.message) == ("KPS202", True)
    least = authority_of(policy_configmap="a/b", scheduler_names=("a",))
    assert least == Authority(frozenset({"a"}), frozenset(), "")
    most = authority_of(
        policy_configmap="a/b",
        scheduler_names=("a",),
        extender_hosts=("any",),
        certificate_folder=Path("/c"),
    )
    assert most == Authority(frozenset({"a"}), None, "/c")


@pytest.mark.parametrize(
    ("flag", "message"),
    [
        ("--extender-hosts=http://a:1", "is not HOST:PORT"),
        ("--extender-hosts=a", "is not HOST:PORT"),
        ("--extender-hosts=a:0", "is not HOST:PORT"),
        ("--extender-hosts=none,a:1", "is not HOST:PORT"),
        ("--extender-hosts=", "has no name"),
        ("--scheduler-names=,", "has no name"),
        ("--extender-pod-fields=labels", "is not one of env, args, annotations"),
    ],
)
def test_limits_that_make_no_sense_are_refused(
    capsys: pytest.CaptureFixture[str], flag: str, message: str
) -> None:
    with pytest.raises(SystemExit):
        flags(flag)
    assert message in capsys.readouterr().err


# --- what is wrong with a file -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "code", "line", "hint"),
    [
        ("prot: 1\n", "KP102", 3, "did you mean `port`?"),
        ("port: 70000\n", "KP113", 3, ""),
        ("port: '1'\n", "KP113", 3, ""),
        ("leaderElect: yes\n", "KP113", 3, "write `true`"),
        ("logFormat: jsn\n", "KP103", 3, "did you mean `json`?"),
        ("policyConfigmap: a/b/c\n", "KP113", 3, "write NAMESPACE/NAME"),
        ("port: 1\nport: 2\n", "KP105", 4, "keep one"),
        ("policy: [a]\npolicyConfigmap: a/b\n", "KP115", 4, "leave one out"),
        ("port: [\n", "KP101", 3, ""),
    ],
)
def test_findings_have_code_place_and_hint(text: str, code: str, line: int, hint: str) -> None:
    _, diagnostics = read_configuration(Source("c.yaml", HEAD + text))
    found = [diagnostic for diagnostic in diagnostics if diagnostic.code == code]
    assert found, diagnostics
    place = found[0].place
    assert place is not None
    assert place.file == "c.yaml"
    assert place.line >= line
    assert hint in found[0].hint


def test_another_kind_of_file_is_reported() -> None:
    model, diagnostics = read_configuration(Source("c.yaml", "kind: SchedulingPolicy\n"))
    assert model is None
    assert [diagnostic.code for diagnostic in diagnostics] == ["KP101"]
    assert "there is no SchedulerConfiguration in this file" in diagnostics[0].message


def test_lint_looks_at_it_and_run_refuses_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    good, bad = tmp_path / "good.yaml", tmp_path / "bad.yaml"
    good.write_text(HEAD + "port: 0\n---\n")
    bad.write_text(HEAD + "prot: 0\n")
    assert main(["lint", str(good)]) == 0
    assert main(["lint", "-o", "concise", str(bad)]) == 1
    assert f"{bad}:3:1: error[KP102] unknown field `prot`" in capsys.readouterr().out
    assert main(["run", "--config", str(bad)]) == 2
    error = capsys.readouterr().err
    assert f"{bad}:3:1: error[KP102]" in error
    assert "KPS203" in error


@pytest.mark.parametrize(
    "head",
    [
        "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n",
        "apiVersion: v1\nkind: Policy\n",
        "apiVersion: kpolicy.dev/v1alpha1\nkind: SchedulingPolicy\n",
    ],
    ids=lambda head: head.split()[-1],
)
def test_a_policy_in_its_place_is_answered_with_the_flag_for_policies(
    head: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "scheduler.yaml"
    file.write_text(head)
    assert main(["run", "--config", str(file)]) == 2
    hint = f"policies and files of kube-scheduler are given with `--policy {file}`"
    assert hint in capsys.readouterr().err


def test_lint_looks_at_policies_beside_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "config.yaml").write_text(HEAD)
    policy = "apiVersion: kpolicy.dev/v1alpha1\nkind: SchedulingPolicy\nmetadata: {name: p}\n"
    (tmp_path / "policy.yaml").write_text(policy + "spec: {profles: []}\n")
    assert main(["lint", "-o", "concise", str(tmp_path)]) == 1
    shown = capsys.readouterr().out
    assert "policy.yaml:4:8: error[KP102]" in shown
    assert "config.yaml" not in shown


def test_help_tells_of_the_three_ways() -> None:
    assert "KPOLICY_" in run.RUN.description
    assert "SchedulerConfiguration" in run.RUN.description


def test_how_many_traces_a_second_is_set_by_flag_variable_or_file(tmp_path: Path) -> None:
    settings, origins = settings_of(
        tmp_path,
        "--traces-per-second=7",
        file="tracesPerSecond: 5\nkeptTracesPerSecond: 0\n",
        KPOLICY_TRACES_PER_SECOND="6",
    )
    assert (settings.traces_per_second, origins["traces_per_second"]) == (7, "flag")
    assert (settings.kept_traces_per_second, origins["kept_traces_per_second"]) == (0, "file")
    assert settled({}, {}, {})[0].traces_per_second == 10_000
    for wrong in ("-1", "10001", "many"):
        with pytest.raises(CannotWorkError, match="KPOLICY_TRACES_PER_SECOND"):
            settled({}, {"KPOLICY_TRACES_PER_SECOND": wrong}, {})
    with pytest.raises(CannotWorkError):
        settings_of(tmp_path, file="keptTracesPerSecond: -1\n")


def test_the_number_of_engine_threads(tmp_path: Path) -> None:
    settings, origins = settings_of(tmp_path, file="engineThreads: 3\n", KPOLICY_ENGINE_THREADS="2")
    assert (settings.engine_threads, origins["engine_threads"]) == (2, "variable")
    assert settled({}, {}, {})[0].engine_threads is None
    for wrong in (0, -1, ENGINE_THREADS_MAX + 1):
        problem = Options(engine_threads=wrong).checked()
        assert problem is not None
        assert problem.code == "KPS202"
        assert f"--engine-threads={wrong} is not between 1 and 256" in str(problem)
        assert "kpolicy run --help" in str(problem)
        with pytest.raises(CannotWorkError):
            settings_of(tmp_path, file=f"engineThreads: {wrong}\n")
    assert Options(engine_threads=ENGINE_THREADS_MAX).checked() is None
    with pytest.raises(CannotWorkError, match="KPOLICY_ENGINE_THREADS: `x` is not a whole number"):
        settled({}, {"KPOLICY_ENGINE_THREADS": "x"}, {})


def test_the_label_that_says_what_a_tenant_is_counts_without_policies_of_tenants_too() -> None:
    delivered = delivery_of(RunSettings(tenant_label="example.com/team"), "own", SystemClock())
    assert not isinstance(delivered, Problem)
    assert (delivered.tenants, delivered.authority.tenant_label) == (None, "example.com/team")
    problem = delivery_of(RunSettings(tenant_label="no label!"), "own", SystemClock())
    assert isinstance(problem, Problem)
    assert problem.message == "--tenant-label: `no label!` is not the key of a label"
