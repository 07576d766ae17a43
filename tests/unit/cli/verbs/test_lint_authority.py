"""`kpolicy lint` knows what a scheduler will allow, by flags and from its settings file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kpolicy import cli

TEXT = """\
apiVersion: kpolicy.dev/v1alpha1
kind: SchedulingPolicy
metadata: {name: a}
spec:
  base: kube-scheduler-default
  profiles: [{schedulerName: default-scheduler}]
  extenders:
    - urlPrefix: https://evil.example:8443/all
      filterVerb: filter
      tlsConfig: {caFile: /var/run/secrets/kubernetes.io/serviceaccount/token}
"""
NAMES, HOSTS = "--scheduler-names", "--extender-hosts"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "a.yaml").write_text(TEXT, "utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def lint(capsys: pytest.CaptureFixture[str], *flags: str) -> tuple[int, list[str], list[str]]:
    code = cli.main(["lint", "a.yaml", "-o", "json", *flags])
    found = json.loads(capsys.readouterr().out)["findings"]
    return code, [finding["code"] for finding in found], [f.get("hint", "") for f in found]


def test_flags_limit_each_kind_of_authority(capsys: pytest.CaptureFixture[str]) -> None:
    assert lint(capsys)[:2] == (0, [])
    code, codes, hints = lint(capsys, f"{NAMES}=kpolicy")
    assert (code, codes, hints) == (1, ["KP131"], ["--scheduler-names allows `kpolicy`"])
    assert lint(capsys, f"{NAMES}=kpolicy,default-scheduler")[:2] == (0, [])
    assert lint(capsys, f"{HOSTS}=none")[:2] == (1, ["KP132"])
    assert lint(capsys, f"{HOSTS}=evil.example:443")[:2] == (1, ["KP132"])
    assert lint(capsys, f"{HOSTS}=evil.example:8443")[:2] == (0, [])
    assert lint(capsys, f"{HOSTS}=any")[:2] == (0, [])
    assert lint(capsys, "--certificate-folder=/etc/kpolicy")[:2] == (1, ["KP133"])
    assert lint(capsys, "--certificate-folder=/var/run/secrets")[:2] == (0, [])


@pytest.mark.parametrize(
    ("name", "head"), [("kpolicy.toml", "[lint]"), ("pyproject.toml", "[tool.kpolicy.lint]")]
)
def test_the_settings_file_limits_it_too_and_flags_come_on_top(
    folder: Path, capsys: pytest.CaptureFixture[str], name: str, head: str
) -> None:
    limits = 'scheduler-names = ["kpolicy"]\nextender-hosts = ["none"]\n'
    (folder / name).write_text(f'{head}\n{limits}certificate-folder = "certificates"\n')
    code, codes, hints = lint(capsys)
    assert (code, codes) == (1, ["KP131", "KP132", "KP133"])
    assert str(folder / "certificates") in hints[2]
    assert lint(capsys, f"{NAMES}=default-scheduler", f"{HOSTS}=any")[1] == ["KP133"]
    assert lint(capsys, "--isolated")[:2] == (0, [])


def test_a_tenant_is_what_the_process_says_it_is(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    queue = "  queue: {tenantLabel: team, holds: [{name: pods, when: tenant.pods > 9}]}\n"
    (folder / "a.yaml").write_text(
        "apiVersion: kpolicy.dev/v1alpha1\nkind: SchedulingPolicy\nmetadata: {name: a}\n"
        f"spec:\n  profiles: [{{schedulerName: kpolicy}}]\n{queue}"
    )
    assert lint(capsys)[:2] == lint(capsys, "--tenant-label=team")[:2] == (0, [])
    code, codes, hints = lint(capsys, "--tenant-label=example.com/team")
    assert (code, codes) == (1, ["KP139"])
    assert hints == ["leave it out, or write `example.com/team`; --tenant-label says it"]
    (folder / "kpolicy.toml").write_text('[lint]\ntenant-label = "example.com/team"\n')
    assert lint(capsys)[:2] == (1, ["KP139"])
    assert lint(capsys, "--tenant-label=team")[:2] == (0, [])


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('scheduler-names = "kpolicy"', "`scheduler-names` is a list of texts"),
        ("extender-hosts = []", "`extender-hosts` is empty"),
        ('extender-hosts = ["a"]', "`a` is not HOST:PORT"),
        ("certificate-folder = 1", "`certificate-folder` is the path of a folder"),
        ("tenant-label = ''", "`tenant-label` is the key of a label"),
    ],
)
def test_a_settings_file_that_makes_no_sense_is_named(
    folder: Path, capsys: pytest.CaptureFixture[str], line: str, message: str
) -> None:
    (folder / "kpolicy.toml").write_text(f"[lint]\n{line}\n")
    assert cli.main(["lint", "a.yaml"]) == 2
    assert message in capsys.readouterr().err


def test_plugins_that_a_process_will_have_may_be_named(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "gate_of_lint.py").write_text(
        "class Gate:\n"
        "    def __init__(self, handle): ...\n"
        "    async def permit(self, pod, node): ...\n"
    )
    (folder / "a.yaml").write_text(
        "apiVersion: kubescheduler.config.k8s.io/v1\n"
        "kind: KubeSchedulerConfiguration\n"
        "profiles: [{plugins: {permit: {enabled: [{name: Gate}]}}}]\n"
    )
    monkeypatch.syspath_prepend(str(folder))
    assert "KP103" in lint(capsys)[1]
    assert "KP103" not in lint(capsys, "--plugin=gate_of_lint:Gate")[1]
