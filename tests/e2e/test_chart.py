"""deploy/chart by the real Helm: the objects of deploy/kustomize, accepted without a warning.

What the overlays are tested for elsewhere (rights, fences, a scheduler that runs by them) holds for
the chart because it brings the same objects; that they are the same is what is tested here.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from kpolicy import Source, compile_policy
from kpolicy.version import VERSION
from tests.cluster.build import ControlPlaneBinary
from tests.cluster.client import wait_for
from tests.cluster.control_plane import ControlPlane
from tests.e2e.dry_run import dry_run
from tests.e2e.fenced import FENCES
from tests.e2e.rendered import NAMESPACE, OVERLAYS, Json, Manifest, of_kind, rendered
from tests.e2e.scheduler_process import SchedulerProcess

pytestmark = pytest.mark.cluster

CHART: Final = Path(__file__).parents[2] / "deploy/chart"
ALERTS: Final = CHART.parent / "kustomize/components/alerts"
# The values with which the chart brings what an overlay brings.
AS_OVERLAY: Final[Mapping[str, Sequence[str]]] = {
    "second-scheduler": (),
    "otel": ("tracing.endpoint=http://otel-collector.observability.svc:4318",),
    "monitored": ("metrics.enabled=true",),
    "replacement": ("mode=replacement",),
    "tenants": ("tenants.enabled=true",),
}
# What Helm's conventions add to labels and selectors.
OF_HELM: Final = {
    "helm.sh/chart",
    "app.kubernetes.io/instance",
    "app.kubernetes.io/managed-by",
    "app.kubernetes.io/version",
}
_AFFINITY: Final = (
    "affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution"
    ".nodeSelectorTerms[0].matchExpressions[0]"
)
_RULE: Final = "networkPolicy.extenders[0]"
EXTENDER: Final = (
    "extenders.hosts={licences.tools.svc:8443}",
    f"{_RULE}.to[0].podSelector.matchLabels.app=licences",
    f"{_RULE}.ports[0].port=8443",
)
# In blocks, as `--set` gives commas, braces and brackets a meaning.
SHADOW: Final = """\
apiVersion: kpolicy.dev/v1alpha1
kind: SchedulingPolicy
metadata:
  name: next
spec:
  base: kube-scheduler-default
  profiles:
    - schedulerName: kpolicy
"""
MONITORED: Final = ("metrics.enabled=true", "metrics.certificate.issuer.name=ours")
# Beside the chart's own, every switch that is off by default and needs no CRD; and all off.
VARIANTS: Final = {
    **AS_OVERLAY,
    "everything": (
        "mode=replacement",
        "metrics.enabled=true",
        "tracing.endpoint=https://collector:4318",
        "image.pullSecrets[0].name=pull",
        "nodeSelector.pool=system",
        "podLabels.team=platform",
        "podAnnotations.note=x",
        "serviceAccountAnnotations.note=x",
        "args={--log-level=debug}",
        "env[0].name=KPOLICY_LOG_FORMAT",
        "env[0].value=json",
        "envFrom[0].secretRef.name=more",
        "extraVolumes[0].name=authorities",
        "extraVolumes[0].secret.secretName=authorities",
        "extraVolumeMounts[0].name=authorities",
        "extraVolumeMounts[0].mountPath=/etc/authorities",
        "topologySpreadConstraints[0].topologyKey=topology.kubernetes.io/zone",
        "topologySpreadConstraints[0].maxSkew=1",
        "topologySpreadConstraints[0].whenUnsatisfiable=DoNotSchedule",
        rf"shadowPolicy.files.next\.yaml={SHADOW}",
        "replicas=3",
        "engineThreads=4",
        "tenants.enabled=true",
        "tenants.label=example.com/team",
        "tenants.weight=20",
        "networkPolicy.egress[0].ports[0].port=8888",
        *EXTENDER,
        "networkPolicy.apiServers={10.0.0.1/32}",
        "networkPolicy.apiServerPorts={16443}",
        "networkPolicy.dns[0].ipBlock.cidr=169.254.20.10/32",
        "metrics.scrapers[0].ipBlock.cidr=10.1.0.0/16",
        f"image.digest=sha256:{'a' * 64}",
        f"{_AFFINITY}.key=a",
        f"{_AFFINITY}.operator=Exists",
    ),
    "nothing": (
        "preemption.enabled=false",
        "volumes.enabled=false",
        "fences.enabled=false",
        "networkPolicy.enabled=false",
        "disruptionBudget.enabled=false",
        "resourceQuota.enabled=false",
        "priorityClassName=",
        "policy.create=false",
        "leaderElection=false",
        "replicas=1",
        "tolerations=null",
    ),
}


class Helm:
    def __init__(self, binary: Path, home: Path) -> None:
        self._binary = binary
        self._environment = {**os.environ, "HOME": str(home), "HELM_NO_COLOR": "1"}

    def run(self, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [self._binary, *arguments],
            capture_output=True,
            text=True,
            timeout=90,
            check=False,
            env=self._environment,
        )

    def done(self, *arguments: str | Path) -> str:
        done = self.run(*arguments)
        assert done.returncode == 0, done.stderr
        warnings = [line for line in done.stderr.splitlines() if "symbolic link" not in line]
        assert warnings == []
        return done.stdout

    def template(
        self, *values: str, release: str = "kpolicy", namespace: str = NAMESPACE
    ) -> tuple[Manifest, ...]:
        """What an installation brings: not the pod of `helm test`."""
        where = ("-n", namespace, "--skip-tests")
        manifests = self.done("template", release, CHART, *where, *sets(values))
        return tuple(
            Manifest(document) for document in yaml.safe_load_all(manifests) if document is not None
        )


def sets(values: Sequence[str]) -> list[str]:
    return [word for value in values for word in ("--set", value)]


@pytest.fixture(scope="module")
def chart(helm: Path, tmp_path_factory: pytest.TempPathFactory) -> Helm:
    return Helm(helm, tmp_path_factory.mktemp("helm"))


@pytest.fixture(scope="module")
def cluster(control_plane_binary: ControlPlaneBinary) -> Iterator[ControlPlane]:
    """Its namespace warns of all that is not restricted."""
    labels = {"pod-security.kubernetes.io/warn": "restricted"}
    with ControlPlane() as plane:
        plane.admin.create(
            "/api/v1/namespaces", {"metadata": {"name": NAMESPACE, "labels": labels}}
        )
        yield plane


def compared(value: Any) -> Any:
    """Without what Helm adds; variables of the environment in any order, as none names another."""
    if isinstance(value, dict):
        kept = {key: compared(item) for key, item in value.items() if key not in OF_HELM}
        if "env" in kept:
            kept["env"] = sorted(kept["env"], key=lambda document: str(document["name"]))
        return kept
    return [compared(item) for item in value] if isinstance(value, list) else value


def by_name(manifests: Sequence[Manifest]) -> dict[tuple[str, str, str], Json]:
    found = {
        (manifest.kind, manifest.namespace, manifest.name): compared(manifest.document)
        for manifest in manifests
    }
    assert len(found) == len(manifests)
    return found


def test_helm_finds_nothing_wrong_with_it(chart: Helm) -> None:
    assert "0 chart(s) failed" in chart.done("lint", "--strict", CHART)


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_it_brings_what_an_overlay_brings(
    chart: Helm, control_plane_binary: ControlPlaneBinary, overlay: str
) -> None:
    brought = by_name(chart.template(*AS_OVERLAY[overlay]))
    expected = by_name(rendered(control_plane_binary.path, overlay))
    del expected["Namespace", "", NAMESPACE]  # `helm install --create-namespace` makes it
    assert brought.keys() == expected.keys()
    assert len(brought) == OVERLAYS[overlay] - 1
    for name, document in expected.items():
        assert brought[name] == document, name


def test_its_alerts_and_its_dashboard_are_those_of_the_component(chart: Helm) -> None:
    manifests = chart.template("alerts.enabled=true")
    (rule,) = of_kind(manifests, "PrometheusRule")
    expected = yaml.safe_load((ALERTS / "prometheus-rule.yaml").read_text("utf-8"))
    assert rule.document["spec"] == expected["spec"]
    (dashboard,) = [
        config_map
        for config_map in of_kind(manifests, "ConfigMap")
        if "dashboard" in config_map.name
    ]
    text = (ALERTS / "kpolicy.json").read_text("utf-8")
    assert dashboard.document["data"] == {"kpolicy.json": text}
    assert dashboard.document["metadata"]["labels"]["grafana_dashboard"] == "1"
    other = chart.template("alerts.enabled=true", release="team-a")
    shown = json.dumps([document.document for document in other])
    assert 'job=\\"team-a-kpolicy' in shown
    assert 'job=\\"kpolicy' not in shown


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_variant_is_accepted_without_a_warning(
    cluster: ControlPlane, chart: Helm, variant: str
) -> None:
    manifests = chart.template(*VARIANTS[variant])
    assert len(manifests) >= (7 if variant == "nothing" else 19)
    for manifest in manifests:
        assert dry_run(cluster, manifest) == [], f"{manifest.kind} {manifest.name}"


def test_two_releases_share_nothing(chart: Helm) -> None:
    first = chart.template()
    second = chart.template("schedulerNames={team-a}", release="team-a", namespace="team-a")
    cluster_wide = {(document.kind, document.name) for document in first if not document.namespace}
    assert len(cluster_wide) == 24
    assert not cluster_wide & {(document.kind, document.name) for document in second}
    shown = json.dumps([document.document for document in second])
    assert NAMESPACE not in shown
    (fence, _binding) = [
        document for document in second if document.name == "team-a-kpolicy-status-fence"
    ]
    (served, *_) = fence.document["spec"]["variables"]
    assert served["expression"] == "oldObject.spec.schedulerName in ['team-a']"
    account = "'system:serviceaccount:team-a:team-a-kpolicy'"
    fences = of_kind(second, "ValidatingAdmissionPolicy")
    assert len(fences) == len(list(FENCES.glob("*-fence.yaml")))
    for fence in fences:
        (condition,) = fence.document["spec"]["matchConditions"]
        assert condition["expression"] == f"request.userInfo.username == {account}"
    assert first_rule(second, "event-fence").endswith("in ['kpolicy', 'team-a']")
    assert first_rule(second, "lease-fence") == "object.metadata.name in ['team-a-kpolicy']"
    (deployment,) = of_kind(second, "Deployment")
    (container,) = deployment.document["spec"]["template"]["spec"]["containers"]
    assert "--lease-name=team-a-kpolicy" in container["args"]
    assert "--policy-configmap=$(POD_NAMESPACE)/team-a-kpolicy-policy" in container["args"]


def first_rule(manifests: Sequence[Manifest], fence: str) -> str:
    (found,) = [
        manifest
        for manifest in manifests
        if manifest.kind == "ValidatingAdmissionPolicy" and manifest.name.endswith(fence)
    ]
    return str(found.document["spec"]["validations"][0]["expression"])


def test_the_network_policy_names_sources_and_destinations(chart: Helm) -> None:
    """Nobody is let in unless scrapers are named, and each rule names who it is about."""
    (closed,) = of_kind(chart.template(), "NetworkPolicy")
    assert closed.document["spec"]["ingress"] == []
    (named,) = of_kind(chart.template(*VARIANTS["everything"]), "NetworkPolicy")
    spec = named.document["spec"]
    assert [rule["from"] for rule in spec["ingress"]] == [[{"ipBlock": {"cidr": "10.1.0.0/16"}}]]
    servers, names, collector, extender, _ours = spec["egress"]
    assert servers == {
        "to": [{"ipBlock": {"cidr": "10.0.0.1/32"}}],
        "ports": [{"port": 16443, "protocol": "TCP"}],
    }
    assert names["to"] == [{"ipBlock": {"cidr": "169.254.20.10/32"}}]
    assert collector["ports"] == [{"port": 4318, "protocol": "TCP"}]
    assert extender["to"] == [{"podSelector": {"matchLabels": {"app": "licences"}}}]
    rules = closed.document["spec"]["egress"]
    assert len(rules) == 2
    assert all(rule["to"] and rule["ports"] for rule in rules)


@pytest.mark.parametrize("mode", ["second-scheduler", "replacement"])
def test_the_policy_it_brings_compiles(chart: Helm, mode: str) -> None:
    (policy,) = of_kind(chart.template(f"mode={mode}"), "ConfigMap")
    compiled = compile_policy([Source("policy.yaml", policy.document["data"]["policy.yaml"])])
    assert compiled.diagnostics == ()
    assert compiled.program is not None
    served = {"second-scheduler": ("kpolicy",), "replacement": ("default-scheduler", "kpolicy")}
    assert compiled.program.scheduler_names == served[mode]


@pytest.mark.parametrize("kind", ["ServiceMonitor", "PodMonitor"])
def test_a_monitor_and_a_certificate_fit_each_other(chart: Helm, kind: str) -> None:
    values = (*MONITORED, f"metrics.monitor.kind={kind}", "metrics.monitor.tokenSecret.name=token")
    manifests = chart.template(*values, release="team-a", namespace="team-a")
    (monitor,) = of_kind(manifests, kind)
    (certificate,) = of_kind(manifests, "Certificate")
    spec = monitor.document["spec"]
    (endpoint,) = spec["endpoints" if kind == "ServiceMonitor" else "podMetricsEndpoints"]
    tls = endpoint["tlsConfig"]
    assert tls["serverName"] in certificate.document["spec"]["dnsNames"]
    assert tls["ca"]["secret"]["name"] == certificate.document["spec"]["secretName"]
    assert endpoint["relabelings"] == [{"targetLabel": "job", "replacement": "team-a-kpolicy"}]
    assert endpoint["authorization"] == {"credentials": {"name": "token", "key": "token"}}
    (service,), (deployment,) = of_kind(manifests, "Service"), of_kind(manifests, "Deployment")
    pods = deployment.document["spec"]["template"]
    found = service.document if kind == "ServiceMonitor" else pods
    assert spec["selector"]["matchLabels"].items() <= found["metadata"]["labels"].items()


def test_a_service_monitor_sends_the_token_of_prometheus(chart: Helm) -> None:
    manifests = chart.template("metrics.enabled=true", "metrics.monitor.kind=ServiceMonitor")
    (monitor,) = of_kind(manifests, "ServiceMonitor")
    (endpoint,) = monitor.document["spec"]["endpoints"]
    assert endpoint["bearerTokenFile"].endswith("/serviceaccount/token")
    assert "authorization" not in endpoint
    assert of_kind(manifests, "Certificate") == []


def test_a_monitor_reads_further_pages_as_targets_of_their_own(chart: Helm) -> None:
    paths = "metrics.monitor.paths={/metrics/slis,/metrics/resources}"
    values = ("metrics.enabled=true", "metrics.monitor.kind=ServiceMonitor", paths)
    manifests = chart.template(*values)
    (monitor,) = of_kind(manifests, "ServiceMonitor")
    main, *others = monitor.document["spec"]["endpoints"]
    assert main["path"] == "/metrics"
    assert [other["path"] for other in others] == ["/metrics/slis", "/metrics/resources"]
    for other in others:
        assert {**other, "path": "", "relabelings": [], "metricRelabelings": []} == {
            **main,
            "path": "",
            "relabelings": [],
            "metricRelabelings": [],
        }
        path = {"targetLabel": "metrics_path", "replacement": other["path"]}
        assert other["relabelings"] == [*main["relabelings"], path]
        (dropped,) = other["metricRelabelings"]
        assert (dropped["action"], dropped["regex"]) == ("drop", "process_start_time_seconds")
    (reader,) = (
        rule
        for role in of_kind(manifests, "ClusterRole")
        for rule in role.document["rules"]
        if "nonResourceURLs" in rule
    )
    assert {"/metrics", "/metrics/slis", "/metrics/resources"} <= set(reader["nonResourceURLs"])


@pytest.mark.parametrize(
    ("value", "name"),
    [("nameOverride=batch", "team-a-batch"), ("fullnameOverride=placer", "placer")],
)
def test_another_name_is_used_everywhere(chart: Helm, value: str, name: str) -> None:
    manifests = chart.template(value, release="team-a", namespace="team-a")
    assert len(manifests) == OVERLAYS["second-scheduler"] - 1
    assert [found.name for found in manifests if not found.name.startswith(name)] == []
    assert first_rule(manifests, "lease-fence") == f"object.metadata.name in ['{name}']"
    (deployment,) = of_kind(manifests, "Deployment")
    (container,) = deployment.document["spec"]["template"]["spec"]["containers"]
    assert f"--lease-name={name}" in container["args"]


def test_a_shadow_policy_may_be_read_and_compiles(chart: Helm) -> None:
    manifests = chart.template(rf"shadowPolicy.files.next\.yaml={SHADOW}")
    (shadow,) = [found for found in manifests if found.name == "kpolicy-shadow-policy"]
    compiled = compile_policy([Source("next.yaml", shadow.document["data"]["next.yaml"])])
    assert compiled.diagnostics == ()
    (deployment,) = of_kind(manifests, "Deployment")
    (container,) = deployment.document["spec"]["template"]["spec"]["containers"]
    flag = "--shadow-policy-configmap=$(POD_NAMESPACE)/kpolicy-shadow-policy"
    assert flag in container["args"]
    (role,) = [found for found in of_kind(manifests, "Role") if found.name == "kpolicy"]
    readable = [rule for rule in role.document["rules"] if rule["verbs"] == ["list", "watch"]]
    assert [rule["resourceNames"] for rule in readable] == [
        ["kpolicy-policy", "kpolicy-shadow-policy"]
    ]


REFUSED: Final = {
    rf"schedulerNames={{team-a}},shadowPolicy.files.next\.yaml={SHADOW}": (
        "next.yaml serves kpolicy, which is none of the schedulerNames team-a"
    ),
    rf"schedulerNames={{team-a}},policy.files.ours\.yaml={SHADOW}": (
        "policy.files: ours.yaml serves kpolicy"
    ),
    "metrics.monitor.kind=ServiceMonitor": "needs metrics.enabled",
    "metrics.enabled=true,metrics.monitor.kind=PodMonitor": "a PodMonitor needs tokenSecret",
    "metrics.monitor.kind=Probe": "/metrics/monitor/kind",
    "metrics.certificate.issuer.name=ours": "metrics.certificate: needs metrics.enabled",
    "fullnameOverride=A_b": "/fullnameOverride",
    "replica=3": "additional properties 'replica' not allowed",
    "policy.fils.a=b": "additional properties 'fils' not allowed",
    "mode=second": "value must be one of 'second-scheduler', 'replacement'",
    "tracing.ratio=2": "/tracing/ratio",
    "policy.files.readme=x": "invalid propertyName 'readme'",
    "image.digest=sha256:abc": "/image/digest",
    "engineThreads=0": "/engineThreads",
    "engineThreads=257": "/engineThreads",
    "engineThreads=x": "/engineThreads",
    "args={policy.yaml}": "/args/0",
    "leaderElection=false": "more than one of them needs leaderElection",
    "leaderElection=false,replicas=1,mode=replacement": "shares kube-scheduler's lease",
    "schedulerNames={default-scheduler}": "two schedulers would serve default-scheduler",
    "mode=replacement,schedulerNames={kpolicy}": "a replacement serves default-scheduler",
    "extenders.hosts={a.b.svc:443}": "networkPolicy.extenders has to say where these are",
    f"{_RULE}.ports[0].port=8443": "/networkPolicy/extenders/0",
    "networkPolicy.apiServers={example.com}": "/networkPolicy/apiServers/0",
    "metrics.scrapers=null": "missing property 'scrapers'",
    "networkPolicy.dns=null": "missing property 'dns'",
    r"policy.create=false,policy.files.a\.yaml=x": "nobody would write them",
}


@pytest.mark.parametrize("values", REFUSED)
def test_values_that_make_no_sense_are_refused(chart: Helm, values: str) -> None:
    refused = chart.run("template", "kpolicy", CHART, "--set", values)
    assert refused.returncode != 0
    assert REFUSED[values] in refused.stderr


def test_it_is_of_the_version_that_it_deploys() -> None:
    chart_file = yaml.safe_load((CHART / "Chart.yaml").read_text("utf-8"))
    assert (chart_file["version"], chart_file["appVersion"]) == (VERSION, VERSION)


def test_every_value_has_a_schema_and_a_use() -> None:
    values = yaml.safe_load((CHART / "values.yaml").read_text("utf-8"))
    schema = json.loads((CHART / "values.schema.json").read_text("utf-8"))
    assert values.keys() == schema["properties"].keys() - {"global"}
    files = [*(CHART / "templates").glob("*.*"), *(CHART / "templates/tests").iterdir()]
    templates = "".join(file.read_text("utf-8") for file in files)
    assert len(values) >= 25
    assert [name for name in values if f".Values.{name}" not in templates] == []


def test_an_upgrade_changes_the_policy_and_restarts_nothing(
    cluster: ControlPlane, chart: Helm, tmp_path: Path
) -> None:
    where = ("-n", NAMESPACE, "--kubeconfig", cluster.kubeconfig())
    notes = chart.done("install", "kpolicy", CHART, *where)
    assert "kpolicy serves pods with schedulerName kpolicy." in notes
    deployment = f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments/kpolicy"
    before = cluster.admin.get(deployment)
    assert before["spec"]["replicas"] == 2
    policy = tmp_path / "policy.yaml"
    policy.write_text(
        "apiVersion: kpolicy.dev/v1alpha1\nkind: SchedulingPolicy\nmetadata: {name: ours}\n"
        "spec: {base: kube-scheduler-default, profiles: [{schedulerName: kpolicy}]}\n"
    )
    chart.done(
        "upgrade", "kpolicy", CHART, *where, "--set-file", rf"policy.files.policy\.yaml={policy}"
    )
    held = cluster.admin.get(f"/api/v1/namespaces/{NAMESPACE}/configmaps/kpolicy-policy")
    assert held["data"] == {"policy.yaml": policy.read_text()}
    after = cluster.admin.get(deployment)
    assert after["metadata"]["generation"] == before["metadata"]["generation"]
    assert after["spec"] == before["spec"]
    chart.done("uninstall", "kpolicy", *where)
    assert not cluster.admin.exists(deployment)
    left = cluster.admin.list("/apis/rbac.authorization.k8s.io/v1/clusterroles")
    assert [
        line["metadata"]["name"] for line in left if "kpolicy" in line["metadata"]["name"]
    ] == []


def test_its_test_is_a_pod_that_kpolicy_places(
    cluster: ControlPlane, chart: Helm, tmp_path: Path
) -> None:
    where = ("-n", NAMESPACE, "--kubeconfig", cluster.kubeconfig())
    chart.done("install", "kpolicy", CHART, *where)
    cluster.admin.create_nodes(1)
    held = cluster.admin.get(f"/api/v1/namespaces/{NAMESPACE}/configmaps/kpolicy-policy")
    policy = tmp_path / "policy.yaml"
    policy.write_text(held["data"]["policy.yaml"])
    pod = f"/api/v1/namespaces/{NAMESPACE}/pods/kpolicy-test"

    def ended() -> bool:
        """As a kubelet says it, once the pod has a node."""
        if not cluster.admin.exists(pod) or not cluster.admin.get(pod)["spec"].get("nodeName"):
            return False
        cluster.admin.patch(f"{pod}/status", {"status": {"phase": "Succeeded"}})
        return True

    log = tmp_path / "log"
    with (
        SchedulerProcess(cluster.kubeconfig(), policy, log, ("--no-leader-elect",)),
        ThreadPoolExecutor(1) as beside,
    ):
        tested = beside.submit(chart.run, "test", "kpolicy", *where, "--timeout", "60s")
        wait_for(ended, "the pod of `helm test` to get a node")
        assert tested.result().returncode == 0, tested.result().stderr
    assert not cluster.admin.exists(pod)
    chart.done("uninstall", "kpolicy", *where)
