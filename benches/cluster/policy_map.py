"""The ConfigMap with the policy for `kpolicy run` in a measurement: its namespace, its text and the
rights to read it.
"""

from __future__ import annotations

from typing import Final

from tests.cluster.control_plane import ControlPlane
from tests.cluster.users import NORMAL
from tests.e2e.rights import of_config_maps

PROFILE: Final = "kpolicy"
_SPACE: Final = "policies"
_NAME: Final = "policy"
_MAPS: Final = f"/api/v1/namespaces/{_SPACE}/configmaps"


class PolicyMap:
    """A policy with kube-scheduler's rules and one more, which is true for every node and contains
    a number."""

    def __init__(self, plane: ControlPlane) -> None:
        self._admin = plane.admin
        self._admin.create_namespace(_SPACE)
        plane.grant(NORMAL, of_config_maps([_NAME], [f"{_NAME}-status"]), namespace=_SPACE)
        self._admin.create(_MAPS, _body(0))

    @property
    def flags(self) -> tuple[str, ...]:
        """The flags of a scheduler that reads this ConfigMap and uses a lease beside it."""
        named = f"--policy-configmap={_SPACE}/{_NAME}"
        return (named, f"--scheduler-names={PROFILE}", f"--lease-namespace={_SPACE}")

    def write(self, number: int) -> None:
        self._admin.replace(f"{_MAPS}/{_NAME}", _body(number))


def _body(number: int) -> dict[str, object]:
    text = f"""\
apiVersion: kpolicy.dev/v1alpha1
kind: SchedulingPolicy
metadata: {{name: measured}}
spec:
  base: kube-scheduler-default
  profiles: [{{schedulerName: {PROFILE}}}]
  predicates:
    - {{name: changing, expression: "!('retired-{number}' in node.labels)"}}
"""
    return {"metadata": {"name": _NAME, "namespace": _SPACE}, "data": {"policy.yaml": text}}
