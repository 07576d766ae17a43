"""A running control plane: etcd, kube-apiserver, and other components when a test asks for them.

Manages its folder, its ports, its processes and the order in which they start. It does not know
kpolicy, which connects like any client.
"""

from __future__ import annotations

import atexit
import itertools
import os
import subprocess
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.cluster import components
from tests.cluster.audit import AuditEvent, AuditLog
from tests.cluster.build import ControlPlaneBinary, control_plane_binary
from tests.cluster.client import Client
from tests.cluster.components import CONTROLLERS
from tests.cluster.errors import ControlPlaneError, PortTakenError
from tests.cluster.folder import Folder
from tests.cluster.process import Process
from tests.cluster.readiness import READY_WITHIN_S, answers_ok, free_ports, wait_ready
from tests.cluster.rights import Rule, grant, revoke
from tests.cluster.users import (
    ADMIN,
    KUBE_CONTROLLER_MANAGER,
    KUBE_SCHEDULER,
    User,
    default_users,
    kubeconfig,
    token_file,
)

KEEP_VARIABLE = "KPOLICY_KEEP_CLUSTER"
PORT_TRIES = 5
COMMAND_TIMEOUT_S = 60


class ControlPlane:
    """A context manager: it starts the control plane, and removes everything at the end."""

    def __init__(
        self,
        binary: ControlPlaneBinary | None = None,
        *,
        users: Sequence[User] | None = None,
        etcd_flags: Sequence[str] = (),
        api_server_flags: Sequence[str] = (),
        ready_within_s: float = READY_WITHIN_S,
    ) -> None:
        self.binary = binary if binary is not None else control_plane_binary()
        self.harness = self.binary.harness
        self.users = tuple(users) if users is not None else default_users()
        self._etcd_flags, self._api_server_flags = tuple(etcd_flags), tuple(api_server_flags)
        self._ready_within_s = ready_within_s
        self._folder: Folder | None = None
        self._etcd: Process | None = None
        self._api_server: Process | None = None
        self._etcd_port = self._api_server_port = 0
        self._others: list[Process] = []
        self._clients: dict[str, Client] = {}
        self._audit: AuditLog | None = None
        self._names = itertools.count(1)

    # Life ----------------------------------------------------------------------------------

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    def start(self) -> None:
        """Starts it; it is ready for requests when this returns."""
        if self._folder is not None:
            raise ControlPlaneError("this control plane runs already: stop it first")
        atexit.register(self.stop)
        for tries_left in reversed(range(PORT_TRIES)):
            try:
                self._start_once()
                return
            except PortTakenError:
                self.stop()
                if not tries_left:
                    raise
            except BaseException:
                self.stop(keep_folder=True)  # the error names its logs
                raise

    def stop(self, *, keep_folder: bool = False) -> None:
        """Stops it at once, with SIGKILL, because its data is not needed any more."""
        atexit.unregister(self.stop)
        for client in self._clients.values():
            client.close()
        for process in (*reversed(self._others), self._api_server, self._etcd):
            if process is not None:
                process.kill()
        if self._folder is not None:
            self._folder.give_up(keep=keep_folder or bool(os.environ.get(KEEP_VARIABLE)))
        self._clients, self._others = {}, []
        self._folder = self._etcd = self._api_server = self._audit = None

    def _start_once(self) -> None:
        folder = self._folder = Folder.new()
        self._run("pki", str(folder.below("pki")))
        folder.tokens.touch(mode=0o600)
        folder.tokens.write_text(token_file(self.users))
        self._audit = AuditLog(folder.audit_log)
        self._etcd_port, peer_port, self._api_server_port = free_ports(3)
        self._etcd = self._process(
            "etcd", components.etcd(folder, self._etcd_port, peer_port, self._etcd_flags)
        )
        self._api_server = self._process(
            "kube-apiserver",
            components.api_server(
                folder,
                self._api_server_port,
                self._etcd_port,
                self.harness.minor,
                self._api_server_flags,
            ),
        )
        self._write_kubeconfigs(folder)
        self.start_etcd()
        self.start_api_server()

    def _write_kubeconfigs(self, folder: Folder) -> None:
        for user in self.users:
            path = folder.below("kubeconfig", f"{user.name.replace(':', '-')}.yaml")
            path.touch(mode=0o600)
            path.write_text(kubeconfig(user, self.server, folder.ca_file))

    # What tests point their programs at ----------------------------------------------------

    @property
    def server(self) -> str:
        return f"https://127.0.0.1:{self._api_server_port}"

    @property
    def ca_file(self) -> Path:
        return self._in().ca_file

    @property
    def folder(self) -> Path:
        """Logs are in `logs/`, the audit log is `audit.log`, keys are in `pki/`."""
        return self._in().root

    def token(self, user: str = ADMIN) -> str:
        return self._user(user).token

    def kubeconfig(self, user: str = ADMIN) -> Path:
        return self._in().below("kubeconfig", f"{self._user(user).name.replace(':', '-')}.yaml")

    def client(self, user: str = ADMIN) -> Client:
        """The client of a user; it is closed when the control plane stops."""
        if user not in self._clients:
            self._clients[user] = Client(self.server, self.ca_file, self.token(user))
        return self._clients[user]

    @property
    def admin(self) -> Client:
        return self.client(ADMIN)

    def audit_events(self) -> tuple[AuditEvent, ...]:
        """All events since the start, in the order of the answers."""
        self._in()
        assert self._audit is not None
        return self._audit.events()

    def kubectl(self, *arguments: str, user: str = ADMIN, stdin: str = "") -> str:
        """The output of kubectl; if it fails, an error with its message."""
        return self._run(
            "kubectl", f"--kubeconfig={self.kubeconfig(user)}", *arguments, stdin=stdin
        )

    def grant(self, user: str, rules: Sequence[Rule], *, namespace: str | None = None) -> str:
        """Gives a user a role, in a namespace or in all; it is in force on return. For `revoke`."""
        return grant(self.admin, user, rules, f"test-{next(self._names)}", namespace)

    def revoke(self, name: str, *, namespace: str | None = None) -> None:
        revoke(self.admin, name, namespace)

    # Components ----------------------------------------------------------------------------

    @property
    def etcd(self) -> Process:
        """The process of etcd, to kill, freeze or thaw it; `start_etcd` starts it again."""
        self._in()
        assert self._etcd is not None
        return self._etcd

    @property
    def api_server(self) -> Process:
        """The process of the API server, to kill, freeze or thaw it; `start_api_server` starts it
        again."""
        self._in()
        assert self._api_server is not None
        return self._api_server

    @property
    def etcd_server(self) -> str:
        return f"http://127.0.0.1:{self._etcd_port}"

    def start_etcd(self) -> None:
        self.etcd.start()
        url = f"{self.etcd_server}/health"
        wait_ready(self.etcd, lambda: answers_ok(url), self._ready_within_s)

    def start_api_server(self) -> None:
        self.api_server.start()
        wait_ready(self.api_server, self._api_server_ready, self._ready_within_s)

    def restart_etcd(self, *, gracefully: bool = False) -> None:
        """Restarts etcd. The API server stays and connects again; the data stays too."""
        _end(self.etcd, gracefully)
        self.start_etcd()
        wait_ready(self.api_server, self._api_server_ready, self._ready_within_s)

    def restart_api_server(self, *, gracefully: bool = False) -> None:
        """Restarts it on the same port, with the same data; with SIGKILL, or gracefully (1-2 s
        more)."""
        _end(self.api_server, gracefully)
        self.start_api_server()

    def start_api_server_beside(self, etcd_port: int) -> tuple[Process, str]:
        """Starts another API server, which reaches the same data by this port; returns its address.
        It has the first one's certificate, users and log."""
        (port,) = free_ports(1)
        command = components.api_server(
            self._in(), port, etcd_port, self.harness.minor, self._api_server_flags
        )
        process = self._start_beside("kube-apiserver", command, port, path="/readyz")
        return process, f"https://127.0.0.1:{port}"

    @property
    def etcd_port(self) -> int:
        return self._etcd_port

    def renew_certificates(self) -> None:
        """Makes another certificate authority, and an API server certificate that only this
        authority signs; in force at the next start. Clients have to read `ca_file` and their
        kubeconfigs again."""
        folder, fresh = self._in(), self._in().below("pki-renewed")
        fresh.mkdir(mode=0o700)
        self._run("pki", str(fresh))
        for name in ("apiserver.crt", "apiserver.key", "ca.crt"):
            (fresh / name).replace(folder.below("pki", name))
        self._write_kubeconfigs(folder)
        for client in self._clients.values():
            client.close()
        self._clients = {}

    def start_scheduler(self, *flags: str, user: str = KUBE_SCHEDULER) -> Process:
        """Starts kube-scheduler; pass a configuration with "--config=FILE"."""
        (port,) = free_ports(1)
        command = components.scheduler(self.kubeconfig(user), port, self.harness.minor, flags)
        return self._start_beside("kube-scheduler", command, port)

    def start_controller_manager(
        self, *flags: str, controllers: Sequence[str] = CONTROLLERS
    ) -> Process:
        """Starts kube-controller-manager with only these controllers."""
        (port,) = free_ports(1)
        account = self.kubeconfig(KUBE_CONTROLLER_MANAGER)
        command = components.controller_manager(
            self._in(),
            account,
            port,
            self.harness.minor,
            controllers=controllers,
            flags=flags,
        )
        return self._start_beside("kube-controller-manager", command, port)

    def _start_beside(
        self, name: str, command: Sequence[str], port: int, path: str = "/healthz"
    ) -> Process:
        process = self._process(f"{name}-{next(self._names)}", command)
        self._others.append(process)
        process.start()
        url = f"https://127.0.0.1:{port}{path}"
        wait_ready(process, lambda: answers_ok(url), self._ready_within_s)
        return process

    def _process(self, name: str, command: Sequence[str]) -> Process:
        return Process(name, (self.binary.path, *command), self._in().log(name))

    def _api_server_ready(self) -> bool:
        return self.admin.request("GET", "/readyz").status == 200 and all(
            self.admin.exists(f"/api/v1/namespaces/{name}") for name in ("default", "kube-system")
        )

    # ---------------------------------------------------------------------------------------

    def _in(self) -> Folder:
        if self._folder is None:
            raise ControlPlaneError("this control plane does not run: start it, or use `with`")
        return self._folder

    def _user(self, name: str) -> User:
        for user in self.users:
            if user.name == name:
                return user
        known = ", ".join(user.name for user in self.users)
        raise ControlPlaneError(f"no user {name!r}: there are {known}; more with users=…")

    def _run(self, *arguments: str, stdin: str = "") -> str:
        done = subprocess.run(
            (self.binary.path, *arguments),
            input=stdin,
            capture_output=True,
            text=True,
            timeout=COMMAND_TIMEOUT_S,
            check=False,
        )
        if done.returncode != 0:
            raise ControlPlaneError(f"{' '.join(arguments)}: {done.stderr.strip()}")
        return done.stdout


def _end(process: Process, gracefully: bool) -> None:
    if gracefully:
        process.stop()
    else:
        process.kill()
