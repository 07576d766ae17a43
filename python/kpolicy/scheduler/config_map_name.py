"""Which ConfigMap is meant, as a user writes it.

Owns `NS/NAME`, `NAME` and `NS/NAME#KEY`, and what is wrong with other forms. Must not know what a
ConfigMap holds.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from kpolicy.scheduler.problem import OPTION_INVALID, Problem

# RFC 1123: a label for namespaces, a subdomain for names; keys of ConfigMaps have their own rule.
_NAMESPACE: Final = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
_NAME: Final = re.compile(r"[a-z0-9]([-.a-z0-9]{0,251}[a-z0-9])?")
_KEY: Final = re.compile(r"[-._a-zA-Z0-9]{1,253}")


@dataclass(frozen=True, slots=True)
class ConfigMapName:
    """`key` empty: every key that can carry what is looked for."""

    namespace: str
    name: str
    key: str = ""

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}" + (f"#{self.key}" if self.key else "")

    @property
    def shown(self) -> str:
        return f"ConfigMap {self.namespace}/{self.name}"

    @property
    def collection(self) -> str:
        return f"/api/v1/namespaces/{self.namespace}/configmaps"

    @property
    def path(self) -> str:
        return f"{self.collection}/{self.name}"

    def beside(self, suffix: str) -> ConfigMapName:
        """Another one in the same namespace, named after this one."""
        return ConfigMapName(self.namespace, f"{self.name}{suffix}")


def config_map_name(written: str, own_namespace: str, flag: str) -> ConfigMapName | Problem:
    """A name without a namespace is in our own."""
    whole, _, key = written.partition("#")
    namespace, slash, name = whole.rpartition("/")
    namespace = namespace if slash else own_namespace
    fits = _NAMESPACE.fullmatch(namespace) and _NAME.fullmatch(name)
    if fits and (_KEY.fullmatch(key) or "#" not in written):
        return ConfigMapName(namespace, name, key)
    message = f"{flag}: `{written}` names no ConfigMap"
    return Problem(OPTION_INVALID, message, "write NAMESPACE/NAME, or NAMESPACE/NAME#KEY")
