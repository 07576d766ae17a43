"""Which plugins a profile has, and in which order."""

from __future__ import annotations

import pytest

from kpolicy.plugins.loading import PluginClass
from kpolicy.plugins.order import LoadedPlugin, ProfilePlugins
from kpolicy.plugins.points import Point
from kpolicy.policy.authority import Authority
from kpolicy.policy.compile import compile_policy
from kpolicy.policy.models.plugin_sets import PluginSets
from kpolicy.policy.yaml.source import Source

POLICY = """
apiVersion: kpolicy.dev/v1alpha1
kind: SchedulingPolicy
metadata: {{name: p}}
spec:
  profiles: [{{schedulerName: kpolicy}}]
  plugins: {plugins}
"""
CONFIGURATION = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
  - schedulerName: kpolicy
    plugins: {plugins}
"""


def loaded(*names: str) -> list[LoadedPlugin]:
    points = frozenset({Point.PERMIT, Point.PRE_BIND})
    return [LoadedPlugin(PluginClass(n, object, points, False, n), None) for n in names]


def sets(template: str, plugins: str, *names: str) -> PluginSets:
    source = Source("p.yaml", template.format(plugins=plugins))
    compiled = compile_policy(source, authority=Authority(plugins=frozenset(names)))
    assert compiled.program is not None, compiled.diagnostics
    [profile] = compiled.program.profiles
    return profile.plugins or PluginSets()


@pytest.mark.parametrize("template", [POLICY, CONFIGURATION])
@pytest.mark.parametrize(
    ("plugins", "at_permit", "at_pre_bind"),
    [
        ("{}", "abc", "abc"),
        ("{permit: {disabled: [{name: b}]}}", "ac", "abc"),
        ("{permit: {enabled: [{name: c}]}}", "cab", "abc"),
        ("{permit: {enabled: [{name: c}], disabled: [{name: '*'}]}}", "c", "abc"),
        ("{multiPoint: {disabled: [{name: b}]}}", "ac", "ac"),
        ("{multiPoint: {enabled: [{name: c}]}, permit: {disabled: [{name: c}]}}", "ab", "cab"),
        ("{multiPoint: {disabled: [{name: a}]}, permit: {enabled: [{name: a}]}}", "abc", "bc"),
    ],
)
def test_a_profile_orders_and_disables_plugins_by_point(
    template: str, plugins: str, at_permit: str, at_pre_bind: str
) -> None:
    found = ProfilePlugins.of(loaded(*"abc"), sets(template, plugins, *"abc"))
    assert "".join(plugin.name for plugin in found.at(Point.PERMIT)) == at_permit
    assert "".join(plugin.name for plugin in found.at(Point.PRE_BIND)) == at_pre_bind
    assert found.at(Point.RESERVE) == ()


@pytest.mark.parametrize("template", [POLICY, CONFIGURATION])
def test_a_name_that_is_not_loaded_is_refused(template: str) -> None:
    source = Source("p.yaml", template.format(plugins="{permit: {enabled: [{name: coshed}]}}"))
    for names, hint in ((frozenset[str](), ""), (frozenset({"cosched"}), "`cosched`")):
        compiled = compile_policy(source, authority=Authority(plugins=names))
        [found] = [d for d in compiled.diagnostics if d.is_error]
        assert found.code == "KP103"
        assert hint in found.hint
        assert found.place is not None


def test_where_no_process_is_known_a_policy_may_name_plugins_and_a_configuration_may_not() -> None:
    def codes(template: str) -> list[str]:
        source = Source("p.yaml", template.format(plugins="{permit: {enabled: [{name: Gate}]}}"))
        return [found.code for found in compile_policy(source).diagnostics if found.is_error]

    assert codes(POLICY) == []
    assert codes(CONFIGURATION) == ["KP103"], "it may well be a plugin in Go"


def test_the_plugins_of_a_policy_are_a_part_of_its_hash() -> None:
    def hash_of(plugins: str) -> str:
        source = Source("p.yaml", POLICY.format(plugins=plugins))
        program = compile_policy(source, authority=Authority(plugins=frozenset("ab"))).program
        assert program is not None
        return program.hash

    plain = compile_policy(Source("p.yaml", POLICY.replace("  plugins: {plugins}\n", ""))).program
    assert hash_of("{permit: {disabled: [{name: a}]}}") != hash_of(
        "{permit: {disabled: [{name: b}]}}"
    )
    assert plain is None or hash_of("{}") != ""
