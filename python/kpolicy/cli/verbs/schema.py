"""`kpolicy schema`: the JSON Schema of a document, for editors.

Owns the verb's flags and what a schema says beyond its model. Assumes the models. Must not know the
documents.
"""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any, Final

_KINDS: Final = (
    "SchedulingPolicy",
    "PolicyTest",
    "SchedulerConfiguration",
    "KubeSchedulerConfiguration",
)
_IDENTITY: Final = "https://kpolicy.dev/schema/v1alpha1/{}.json"


def add_parser(subparsers: Any) -> None:  # argparse has no public name for this type
    parser: argparse.ArgumentParser = subparsers.add_parser(
        "schema",
        help="print a JSON Schema",
        description="Print the JSON Schema of a document, for editors and CI.",
        allow_abbrev=False,
    )
    parser.add_argument("--kind", choices=_KINDS, default=_KINDS[0], help=f"default: {_KINDS[0]}")


def main(args: argparse.Namespace) -> int:
    from pydantic import BaseModel

    from kpolicy.offline.policy_tests.document_model import PolicyTest
    from kpolicy.policy.legacy.kubescheduler_versions import Configuration
    from kpolicy.policy.models.scheduling_policy import SchedulingPolicy
    from kpolicy.scheduler.configuration_file import SchedulerConfiguration

    models: dict[str, type[BaseModel]] = {
        "SchedulingPolicy": SchedulingPolicy,
        "PolicyTest": PolicyTest,
        "SchedulerConfiguration": SchedulerConfiguration,
        "KubeSchedulerConfiguration": Configuration,
    }
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": _IDENTITY.format(args.kind.lower()),
        **models[args.kind].model_json_schema(by_alias=True),
    }
    sys.stdout.write(json.dumps(schema, indent=2) + "\n")
    return 0
