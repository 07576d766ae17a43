"""The command that reads the source of kube-scheduler says what a version changes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from build.next_release import (
    KNOWN,
    NotAModuleError,
    differences,
    known_source,
    read_source,
    written,
)

FEATURES = """\
package features

const (
	// Scores storage.
	StorageScoring featuregate.Feature = "StorageScoring"
	Locked featuregate.Feature = "Locked"
	OfKubelet featuregate.Feature = "OfKubelet"
)

var gates = map[featuregate.Feature]featuregate.VersionedSpecs{
	StorageScoring: {
		{Version: version.MustParse("1.33"), Default: false, PreRelease: featuregate.Alpha},
		{Version: version.MustParse("1.38"), Default: true, PreRelease: featuregate.Beta}, // soon
	},
	Locked: {
		{Version: version.MustParse("1.36"), Default: true, PreRelease: featuregate.Beta},
		{Version: version.MustParse("1.37"), Default: true, LockToDefault: true, PreRelease: GA},
		// Remove in 1.40.
	},
	OfKubelet: {
		{Version: version.MustParse("1.38"), Default: true, PreRelease: featuregate.Beta},
	},
}
"""
PLUGINS = """\
{Name: names.NodeName},
{Name: names.TaintToleration, Weight: ptr.To[int32](3)},
"""
METRICS = 'metrics.NewGauge(&metrics.GaugeOpts{\n\t\t\tName:      "pending_pods",\n})\n'
CODE = """\
package fit
const ErrReason = "node(s) had no room"
	logger.V(5).Info("Reason for the log only")
	return fwk.NewStatus(fwk.Unschedulable, "no such node")
	if features.StorageScoring && features.Locked {
"""


@pytest.fixture
def module(tmp_path: Path) -> Path:
    for name, text in {
        "pkg/features/kube_features.go": FEATURES,
        "pkg/scheduler/apis/config/v1/default_plugins.go": PLUGINS,
        "pkg/scheduler/metrics/metrics.go": METRICS,
        "pkg/scheduler/framework/fit.go": CODE,
        "pkg/scheduler/framework/fit_test.go": 'const ErrReason = "of a test"\n',
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def test_a_source_is_read(module: Path) -> None:
    source = read_source(module)
    assert source.release == "1.38"
    assert source.gates == {"Locked": "locked", "StorageScoring": "on"}
    assert source.plugins == {"NodeName": 0, "TaintToleration": 3}
    assert source.texts == ("no such node", "node(s) had no room")
    assert source.metrics == ("pending_pods",)


def test_each_change_is_a_line(module: Path) -> None:
    new = read_source(module)
    old = replace(
        new,
        gates={"Locked": "on", "Gone": "off"},
        plugins={"NodeName": 0, "TaintToleration": 1},
        texts=("no such node",),
    )
    assert list(differences(old, new)) == [
        "feature gates that the scheduler reads:",
        "  - Gone",
        "  Locked: on, now locked",
        "  + StorageScoring on",
        "default plugins and their weights:",
        "  TaintToleration: 1, now 3",
        "texts for users:",
        "  + node(s) had no room",
    ]
    assert list(differences(new, new)) == []


def test_what_is_remembered_is_read_as_it_was_written() -> None:
    assert written(known_source()) == KNOWN.read_text()


def test_another_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(NotAModuleError, match="is not a tree of k8s"):
        read_source(tmp_path)
