"""What each field of a KubeSchedulerConfiguration means, for its JSON Schema."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

_DROPPED: Final = "kpolicy does this step itself; what is written here is reported (KP604)."
_OF_PLUGINS: Final = (
    "Plugins in Python that the process has loaded (`--plugin`). kpolicy does the steps of "
    "kube-scheduler's own plugins itself; where no other is named, this is reported (KP604)."
)
_AS_FLAG: Final = "A setting of the process: where it is not the default, KP604 names the flag."
_NOT_THERE: Final = (
    "kpolicy has no page of profiles; KP604 reports a configuration that asks for it."
)
_POINTS: Final = {
    "preEnqueue": _OF_PLUGINS,
    "queueSort": _OF_PLUGINS,
    "preFilter": "Plugins that prepare a filter; kpolicy prepares each filter by itself.",
    "filter": "Plugins that say on which nodes a pod may run.",
    "postFilter": "Plugins for a pod that fits nowhere: `DefaultPreemption`.",
    "preScore": "Plugins that prepare a score; kpolicy prepares each score by itself.",
    "score": "Plugins that say which nodes are better.",
    "reserve": _OF_PLUGINS,
    "permit": _OF_PLUGINS,
    "preBind": _OF_PLUGINS,
    "bind": _OF_PLUGINS,
    "postBind": _OF_PLUGINS,
    "multiPoint": "Plugins that are enabled at all of their extension points.",
    "placementGenerate": _DROPPED,
    "placementScore": _DROPPED,
}

CONFIGURATION_FIELDS: Final[Mapping[str, Mapping[str, str]]] = {
    "ConfigurationV1": {
        "apiVersion": "The version of the format.",
        "kind": "The kind of the document.",
        "percentageOfNodesToScore": "How many feasible nodes are looked for before they are "
        "scored, in percent of all nodes; 0 is kube-scheduler's formula.",
        "profiles": "Each profile serves the pods of one `schedulerName`.",
        "extenders": "HTTP servers that filter, score, preempt or bind too.",
        "parallelism": f"How many threads decide. {_AS_FLAG}",
        "leaderElection": f"Which replica schedules. {_AS_FLAG}",
        "clientConnection": f"How the API server is reached. {_AS_FLAG}",
        "enableProfiling": _NOT_THERE,
        "enableContentionProfiling": _NOT_THERE,
        "podInitialBackoffSeconds": f"The first back-off of a pod that did not fit. {_AS_FLAG}",
        "podMaxBackoffSeconds": f"The longest back-off. {_AS_FLAG}",
        "delayCacheUntilActive": _AS_FLAG,
        "featureGates": "Not read from the file, as in kube-scheduler: use `--feature-gates`.",
    },
    "ProfileV1": {
        "schedulerName": "Pods with this `spec.schedulerName` are served.",
        "percentageOfNodesToScore": "As the field of the document, for this profile.",
        "plugins": "Plugins that are enabled or disabled beside the default ones.",
        "pluginConfig": "Arguments of plugins.",
    },
    "Plugins": _POINTS,
    "PluginSet": {
        "enabled": "Plugins that are added after the default ones.",
        "disabled": "Default plugins that are removed; `*` removes all.",
    },
    "Plugin": {
        "name": "The name of the plugin.",
        "weight": "The score of the plugin is multiplied by this number; 0 means 1.",
    },
    "PluginConfig": {
        "name": "The name of the plugin.",
        "args": "Its arguments, as of the built-in of that name: see `kpolicy rule NAME`.",
    },
}
