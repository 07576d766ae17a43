"""What the page about tests quotes is what the examples hold, and the examples hold."""

from __future__ import annotations

import re

import pytest

from kpolicy.offline.policy_tests.document_model import Expectation, PolicyTest
from tests.tree.sources import ROOT

PAGE = (ROOT / "docs" / "testing-policies.md").read_text("utf-8")
EXAMPLES = ROOT / "docs" / "examples"


def test_the_files_quoted_are_those_that_run() -> None:
    [yaml] = re.findall(r"```yaml\n# docs/examples/gpu.test.yaml\n(.*?)```", PAGE, re.DOTALL)
    assert yaml == (EXAMPLES / "gpu.test.yaml").read_text()
    [replay] = re.findall(r"```yaml\n# docs/examples/replay.test.yaml\n(.*?)```", PAGE, re.DOTALL)
    assert replay == (EXAMPLES / "replay.test.yaml").read_text()
    [python] = re.findall(r"```python\n(from .*?)```", PAGE, re.DOTALL)
    assert python in (EXAMPLES / "test_gpu.py").read_text()


def test_the_example_in_python_passes() -> None:
    assert pytest.main(["-q", "-p", "no:cacheprovider", str(EXAMPLES / "test_gpu.py")]) == 0


def test_the_tables_name_every_field() -> None:
    def written(model: type[Expectation | PolicyTest]) -> set[str]:
        return {field.alias or name for name, field in model.model_fields.items()}

    named = set(re.findall(r"`([A-Za-z0-9]+)(?:\.NODE)?`", PAGE)) | {"tests", "coverage"}
    fields = written(Expectation) | written(PolicyTest) - {"apiVersion", "kind", "metadata"}
    assert len(fields) > 20
    assert fields <= named
