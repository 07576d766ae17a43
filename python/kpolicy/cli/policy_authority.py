"""The authority of policies from settings: of `kpolicy run`, and of `kpolicy lint` by flags and
files.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from kpolicy.policy.authority import UNLIMITED, Authority, extender_hosts

# For policies in ConfigMaps, where nothing else is set. The names of schedulers are always set.
CONFIG_MAPS: Final = Authority(extender_hosts=frozenset(), certificate_folder="")


def authority_of(
    scheduler_names: Sequence[str],
    hosts: Sequence[str],
    folder: Path | None,
    *,
    tenant_label: str = "",
    unset: Authority = UNLIMITED,
) -> Authority:
    """What is set, and the values of `unset` elsewhere. A relative folder is one of the working
    directory."""
    return Authority(
        frozenset(scheduler_names) if scheduler_names else unset.scheduler_names,
        extender_hosts(hosts) if hosts else unset.extender_hosts,
        os.path.abspath(folder) if folder is not None else unset.certificate_folder,  # noqa: PTH100
        tenant_label=tenant_label or unset.tenant_label,
    )
