"""The JSON Schemas that are published: `kpolicy schema` prints them, `explain-field` reads them."""

from __future__ import annotations

from typing import Any, Final

SCHEMA_KINDS: Final = (
    "SchedulingPolicy",
    "PolicyTest",
    "Scenario",
    "SchedulerConfiguration",
    "KubeSchedulerConfiguration",
    "Settings",
    "Output",
)


def schema_of(kind: str) -> dict[str, Any]:
    """The schema of a kind, with a description of each field."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"https://kpolicy.dev/schema/v1alpha1/{kind.lower()}.json",
        **_body(kind),
    }


def _body(kind: str) -> dict[str, Any]:
    match kind:
        case "SchedulingPolicy":
            from kpolicy.policy.models.field_descriptions import describe_fields
            from kpolicy.policy.models.scheduling_policy import SchedulingPolicy

            body = SchedulingPolicy.model_json_schema(by_alias=True)
            describe_fields(body)
            return body
        case "PolicyTest":
            from kpolicy.offline.policy_tests.document_fields import DOCUMENT_FIELDS
            from kpolicy.offline.policy_tests.document_model import PolicyTest
            from kpolicy.policy.models.field_descriptions import describe_fields

            body = PolicyTest.model_json_schema(by_alias=True)
            describe_fields(body, DOCUMENT_FIELDS)
            return body
        case "Scenario":
            from kpolicy.offline.days.scenario_fields import SCENARIO_FIELDS
            from kpolicy.offline.days.scenario_model import Scenario
            from kpolicy.policy.models.field_descriptions import describe_fields

            body = Scenario.model_json_schema(by_alias=True)
            describe_fields(body, SCENARIO_FIELDS)
            return body
        case "SchedulerConfiguration":
            from kpolicy.scheduler.options import SchedulerConfiguration

            return SchedulerConfiguration.model_json_schema(by_alias=True)
        case "KubeSchedulerConfiguration":
            from kpolicy.policy.legacy.configuration_fields import CONFIGURATION_FIELDS
            from kpolicy.policy.legacy.kubescheduler_versions import ConfigurationV1
            from kpolicy.policy.models.field_descriptions import describe_fields

            body = ConfigurationV1.model_json_schema(by_alias=True)
            describe_fields(body, CONFIGURATION_FIELDS)
            return body
        case "Settings":
            from kpolicy.cli.settings_schema import SETTINGS_SCHEMA

            return SETTINGS_SCHEMA
    from kpolicy.cli.output_schema import output_schema

    return output_schema()
