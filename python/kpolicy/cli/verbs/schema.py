"""`kpolicy schema`: prints the JSON Schema of a document, for editors."""

from __future__ import annotations

import argparse
import json
import sys
from typing import Final

from kpolicy.cli.verb import Verb, argument

_KINDS: Final = (
    "SchedulingPolicy",
    "PolicyTest",
    "SchedulerConfiguration",
    "KubeSchedulerConfiguration",
)


def _main(args: argparse.Namespace) -> int:
    from kpolicy.offline.policy_tests.document_model import PolicyTest
    from kpolicy.policy.legacy.kubescheduler_versions import Configuration
    from kpolicy.policy.models.scheduling_policy import SchedulingPolicy
    from kpolicy.scheduler.options import SchedulerConfiguration

    models = (SchedulingPolicy, PolicyTest, SchedulerConfiguration, Configuration)
    model = models[_KINDS.index(args.kind)]
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"https://kpolicy.dev/schema/v1alpha1/{args.kind.lower()}.json",
        **model.model_json_schema(by_alias=True),
    }
    sys.stdout.write(json.dumps(schema, indent=2) + "\n")
    return 0


VERB: Final = Verb(
    "schema",
    "Print the JSON Schema of a document, for editors and CI.",
    _main,
    (argument("--kind", choices=_KINDS, default=_KINDS[0], help=f"default: {_KINDS[0]}"),),
)
