"""Finds the connection from a flag, KUBECONFIG, the home folder or a pod, or reports the problem in
one line.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from kpolicy.cluster.auth.connection import Connection
from kpolicy.cluster.auth.load_connection import load_connection
from kpolicy.cluster.connection_problem import ConnectionProblem
from kpolicy.testing import ControlPlane
from tests.manual_clock import ManualClock
from tests.unit.cluster import certificates as pem

SERVER = "https://10.0.0.1:6443"


def document(
    user: Mapping[str, Any] | None = None,
    current: str | None = "c",
    cluster: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "cl", "cluster": {"server": SERVER, **(cluster or {})}}],
        "users": [{"name": "u", "user": user or {}}],
        "contexts": [{"name": "c", "context": {"cluster": "cl", "user": "u", "namespace": "n"}}],
        **({"current-context": current} if current else {}),
    }


def written(path: Path, content: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else yaml.safe_dump(content))
    return path


async def load(environ: dict[str, str] | None = None, **more: Any) -> Connection:
    connection = await load_connection(environ or {}, ManualClock(), **more)
    assert isinstance(connection, Connection), connection
    return connection


async def wrong(environ: dict[str, str] | None = None, **more: Any) -> ConnectionProblem:
    found = await load_connection(environ or {}, ManualClock(), **more)
    assert isinstance(found, ConnectionProblem), found
    assert "\n" not in str(found)
    return found


async def test_a_flag_goes_before_everything(tmp_path: Path) -> None:
    flag = written(tmp_path / "flag", document({"token": "from-flag"}))
    other = written(tmp_path / "other", document({"token": "other"}))
    connection = await load({"KUBECONFIG": str(other)}, kubeconfig=flag)
    assert await connection.authorization.header() == "Bearer from-flag"
    assert connection.server == SERVER
    assert connection.namespace == "n"
    assert connection.user == "u"
    assert connection.ssl_context is not None


async def test_kubeconfig_goes_before_home_and_home_before_the_pod(tmp_path: Path) -> None:
    home = written(tmp_path / "home/.kube/config", document({"token": "home"}))
    listed = written(tmp_path / "listed", document({"token": "listed"}))
    environ = {"HOME": str(home.parents[1]), "KUBERNETES_SERVICE_HOST": "10.0.0.1"}
    connection = await load(environ)
    assert await connection.authorization.header() == "Bearer home"
    connection = await load(environ | {"KUBECONFIG": str(listed)})
    assert await connection.authorization.header() == "Bearer listed"


async def test_files_are_merged_as_kubectl_does(tmp_path: Path) -> None:
    """The first that defines a name, or the current context, wins; missing files are left out."""
    first = document({"token": "first"}, current=None)
    second = document({"token": "second"}, current="c") | {
        "contexts": [{"name": "d", "context": {"cluster": "cl", "user": "u"}}]
    }
    third = document({"token": "third"}, current="d")
    paths = [
        written(tmp_path / name, content)
        for name, content in (("1", first), ("2", second), ("3", third))
    ]
    environ = {"KUBECONFIG": ":".join(["", str(tmp_path / "missing"), *map(str, paths)])}
    connection = await load(environ)
    assert await connection.authorization.header() == "Bearer first"
    assert connection.namespace == "n"
    assert (await load(environ, context="d")).namespace == "default"


async def test_in_a_pod_the_service_account_is_used(tmp_path: Path) -> None:
    written(tmp_path / "token", "t\n")
    written(tmp_path / "ca.crt", pem.AUTHORITY.decode())
    written(tmp_path / "namespace", "kube-system")
    environ = {"KUBERNETES_SERVICE_HOST": "fd00::1", "KUBERNETES_SERVICE_PORT": "443"}
    connection = await load(environ, service_account=tmp_path)
    assert connection.server == "https://[fd00::1]:443"
    assert connection.namespace == "kube-system"
    assert await connection.authorization.header() == "Bearer t"
    assert connection.source == "in-cluster"


async def test_in_a_pod_without_a_service_account_the_way_out_is_named(tmp_path: Path) -> None:
    found = await wrong({"KUBERNETES_SERVICE_HOST": "10.0.0.1"}, service_account=tmp_path)
    assert found.code == "KPC114"
    assert "automountServiceAccountToken" in found.hint


async def test_relative_paths_start_at_the_file_that_names_them(tmp_path: Path) -> None:
    written(tmp_path / "a/pki/ca.crt", pem.AUTHORITY.decode())
    written(tmp_path / "b/token", "t")
    users = document({"tokenFile": "token"}) | {"clusters": []}
    clusters = document(cluster={"certificate-authority": "pki/ca.crt"}) | {"users": []}
    paths = [written(tmp_path / "a/config", clusters), written(tmp_path / "b/config", users)]
    connection = await load({"KUBECONFIG": ":".join(map(str, paths))})
    assert await connection.authorization.header() == "Bearer t"
    assert connection.tls is not None
    assert connection.tls.authority == pem.AUTHORITY


async def test_inline_certificates_go_before_files(tmp_path: Path) -> None:
    def inline(content: bytes) -> str:
        return base64.b64encode(content).decode()

    user = {
        "client-certificate-data": inline(pem.ALICE),
        "client-certificate": "/no/such",
        "client-key-data": inline(pem.ALICE_KEY),
    }
    cluster = {"certificate-authority-data": inline(pem.AUTHORITY), "tls-server-name": "api"}
    path = written(tmp_path / "c", document(user, cluster=cluster))
    connection = await load(kubeconfig=path)
    assert connection.tls is not None
    assert connection.tls.authority == pem.AUTHORITY
    assert connection.server_name == "api"


@pytest.mark.parametrize(
    ("user", "header"),
    [
        ({}, ""),
        ({"token": "t"}, "Bearer t"),
        ({"username": "u", "password": "p"}, "Basic dTpw"),
    ],
)
async def test_ways_to_say_who_we_are(user: dict[str, str], header: str, tmp_path: Path) -> None:
    connection = await load(kubeconfig=written(tmp_path / "c", document(user)))
    assert await connection.authorization.header() == header


async def test_impersonation_is_kept(tmp_path: Path) -> None:
    user = {"token": "t", "as": "jane", "as-uid": "1", "as-groups": ["a", "b"]}
    connection = await load(kubeconfig=written(tmp_path / "c", document(user)))
    assert connection.headers == (
        ("Impersonate-User", "jane"),
        ("Impersonate-Uid", "1"),
        ("Impersonate-Group", "a"),
        ("Impersonate-Group", "b"),
    )


async def test_a_plugin_is_run_before_the_first_request(tmp_path: Path) -> None:
    exec_ = {"apiVersion": "client.authentication.k8s.io/v1", "command": "no-such-plugin"}
    found = await wrong(kubeconfig=written(tmp_path / "c", document({"exec": exec_})))
    assert found.code == "KPC110"


async def test_a_plugins_certificate_is_put_in_force(tmp_path: Path) -> None:
    answer = tmp_path / "answer"
    status = {
        "clientCertificateData": pem.BOB.decode(),
        "clientKeyData": pem.BOB_KEY.decode(),
    }
    version = "client.authentication.k8s.io/v1"
    answer.write_text(json.dumps({"apiVersion": version, "status": status}))
    exec_ = {"apiVersion": version, "command": "/bin/cat", "args": [str(answer)]}
    connection = await load(kubeconfig=written(tmp_path / "c", document({"exec": exec_})))
    assert connection.authorization.certificate is not None
    assert connection.tls is not None
    assert connection.tls.generation == 1


async def test_plain_http_has_no_tls(tmp_path: Path) -> None:
    path = written(tmp_path / "c", document(cluster={"server": "http://127.0.0.1:8080/prefix/"}))
    connection = await load(kubeconfig=path)
    assert connection.server == "http://127.0.0.1:8080/prefix"
    assert connection.ssl_context is None


async def test_the_embedded_control_planes_kubeconfig_is_read(tmp_path: Path) -> None:
    async with ControlPlane(tokens={"secret": "jane"}) as control_plane:
        path = control_plane.write_kubeconfig(tmp_path / "config")
        connection = await load(kubeconfig=path)
        assert connection.server == control_plane.url
        assert await connection.authorization.header() == "Bearer secret"


@pytest.mark.parametrize(
    ("content", "code", "words"),
    [
        (document(current=None), "KPC104", "no current-context"),
        (document(current="x"), "KPC105", "object with name x in"),
        (document() | {"clusters": []}, "KPC105", "object with name cl in"),
        (document() | {"users": None}, "KPC105", "object with name u in"),
        (document() | {"contexts": [{"name": "c"}]}, "KPC105", "context"),
        (document() | {"contexts": "x"}, "KPC105", "to have 'name' key"),
        (document() | {"contexts": 1}, "KPC103", "not a well-formed kubeconfig"),
        (document() | {"clusters": [None]}, "KPC103", "not a well-formed kubeconfig"),
        (document() | {"users": [{"name": "u", "user": "x"}]}, "KPC103", "not a well-formed"),
        (document(cluster={"server": ""}), "KPC106", "not an http(s) URL"),
        (document(cluster={"server": "10.0.0.1:6443"}), "KPC106", "not an http(s) URL"),
        (document(cluster={"server": "https://[::1"}), "KPC106", "not an http(s) URL"),
        (document(cluster={"server": "https://h:99999"}), "KPC106", "not an http(s) URL"),
        (document(cluster={"proxy-url": "socks5://p"}), "KPC106", "not an http(s) proxy"),
        (document(cluster={"certificate-authority": "no.crt"}), "KPC107", "no.crt: No such file"),
        (document(cluster={"certificate-authority-data": "!"}), "KPC103", "not base64"),
        (document(cluster={"certificate-authority-data": "anVuaw=="}), "KPC107", "not a PEM"),
        (document({"client-certificate": "x"}), "KPC108", "come together"),
        (document({"tokenFile": "no-token"}), "KPC109", "no-token: No such file"),
        (document({"exec": {}}), "KPC103", "names no command"),
        (document({"auth-provider": {"name": "old"}}), "KPC112", "gave no token"),
        ("", "KPC103", "not a kubeconfig"),
        ("- a\n- b\n", "KPC103", "not a kubeconfig"),
        ("a: [", "KPC103", "not YAML"),
        ("a: &a [*a]", "KPC103", "not a kubeconfig"),
        ("\x00", "KPC103", "not YAML"),
        ("[" * 5000, "KPC103", "not YAML"),
        ("#" * (2 << 20), "KPC102", "larger than"),
    ],
)
async def test_what_is_wrong_is_reported_in_one_line_and_never_raised(
    content: object, code: str, words: str, tmp_path: Path
) -> None:
    found = await wrong(kubeconfig=written(tmp_path / "config", content))
    assert found.code == code, found
    assert words in found.message


async def test_files_that_are_not_there_are_named(tmp_path: Path) -> None:
    found = await wrong(kubeconfig=tmp_path / "none")
    assert (found.code, found.hint) == ("KPC101", "check --kubeconfig")
    found = await wrong({"KUBECONFIG": f"{tmp_path}/no1:{tmp_path}/no2"})
    assert (found.code, found.hint) == ("KPC101", "check the variable KUBECONFIG")
    assert (await wrong({"HOME": str(tmp_path)})).code == "KPC113"
    assert (await wrong()).code == "KPC113"


async def test_a_folder_is_no_kubeconfig(tmp_path: Path) -> None:
    assert (await wrong(kubeconfig=tmp_path)).code == "KPC102"


async def test_a_colon_in_a_path_is_named(tmp_path: Path) -> None:
    found = await wrong(kubeconfig=written(tmp_path / "a:b", document()))
    assert found.code == "KPC102"
    assert "separates paths" in found.message
