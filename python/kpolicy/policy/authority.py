"""The authority that a process gives to the policies it reads: whose pods they may serve, to which
hosts they may send pods, which certificate files and plugins they may name, and what a tenant is.

A policy has no authority of its own. What is beyond is an error, so it is never put in force.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import PurePosixPath
from typing import Final

from kpolicy.quick_dataclass import dataclass

# The words that stand for a list of hosts.
ANY: Final = "any"
NONE: Final = "none"

_HOST: Final = r"\[[0-9A-Fa-f:.]{2,45}\]|[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,251}[A-Za-z0-9])?"
_ENDPOINT: Final = rf"({_HOST}):([0-9]{{1,5}})"
# Stricter than kube-scheduler, so that no two readers of an address disagree on its host: no user,
# no query, no fragment, no character that has to be escaped.
_URL: Final = rf"(https?)://({_HOST})(?::([0-9]{{1,5}}))?((?:/[-A-Za-z0-9_.~!$&'()*+,;=:@%]*)*)"
_SEGMENT: Final = r"[-A-Za-z0-9_.~!$&'()*+,;=:@]+"
_PORTS: Final = {"http": 80, "https": 443}
_PORT_MAX: Final = 65535


@dataclass(frozen=True, slots=True)
class Authority:
    """None is no limit. `extender_hosts` are HOST:PORT in lower case; with an empty set there may
    be no extenders. `certificate_folder` is an absolute path; empty: no file may be named.
    `plugins` are those that the process has loaded, where there is a process. `tenant_label`: the
    label of namespaces whose values are the tenants; empty where the process does not say."""

    scheduler_names: frozenset[str] | None = None
    extender_hosts: frozenset[str] | None = None
    certificate_folder: str | None = None
    plugins: frozenset[str] | None = None
    tenant_label: str = ""

    def may_serve(self, scheduler_name: str) -> bool:
        return self.scheduler_names is None or scheduler_name in self.scheduler_names

    def may_ask(self, host: str) -> bool:
        return self.extender_hosts is None or host in self.extender_hosts

    def may_read(self, file: str) -> bool:
        """Whether the file is in the folder by its name. `..` is refused although it may lead back,
        because a link before it can lead elsewhere."""
        if self.certificate_folder is None:
            return True
        path = PurePosixPath(file)
        is_inside = bool(self.certificate_folder) and path.is_relative_to(self.certificate_folder)
        return (
            is_inside and ".." not in path.parts and path != PurePosixPath(self.certificate_folder)
        )


UNLIMITED: Final = Authority()


def with_plugins(names: Iterable[str]) -> Authority:
    """No limit, but for the plugins that are loaded, if any are."""
    loaded = frozenset(names)
    return Authority(plugins=loaded) if loaded else UNLIMITED


def host_of(url: str) -> str:
    """The HOST:PORT of an extender's address, in lower case; empty if it is no address that
    extenders may have."""
    found = re.fullmatch(_URL, url)
    if found is None or _has_dots(found.group(4)):
        return ""
    scheme, host, port, _ = found.groups()
    number = int(port) if port else _PORTS[scheme]
    return f"{host.lower()}:{number}" if 0 < number <= _PORT_MAX else ""


def is_path(verb: str) -> bool:
    """Whether the verb of an extender is one or more segments of a path."""
    return all(re.fullmatch(_SEGMENT, part) and part not in (".", "..") for part in verb.split("/"))


def without_empty_segments(verb: str) -> str:
    return "/".join(part for part in verb.split("/") if part)


def _has_dots(path: str) -> bool:
    parts = path.lower().replace("%2e", ".").replace("%2f", "/").replace("%5c", "/").split("/")
    return "." in parts or ".." in parts


def extender_hosts(written: Iterable[str]) -> frozenset[str] | None:
    """The hosts of a list of HOST:PORT, or of `any` or `none`. Raises ValueError with the reason
    if it is neither."""
    listed = tuple(written)
    if listed in ((ANY,), (NONE,)):
        return None if listed == (ANY,) else frozenset()
    hosts = set()
    for host in listed:
        found = re.fullmatch(_ENDPOINT, host)
        if found is None or not 0 < int(found.group(2)) <= _PORT_MAX:
            raise ValueError(f"`{host}` is not HOST:PORT, and not `{ANY}` or `{NONE}` alone")
        hosts.add(f"{found.group(1).lower()}:{int(found.group(2))}")
    return frozenset(hosts)
