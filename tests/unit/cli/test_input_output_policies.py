"""Policy arguments: a file has precedence over the name of a shipped policy."""

from __future__ import annotations

from pathlib import Path

import pytest

from kpolicy.cli.input_output import policy_sources
from kpolicy.cli.verb import CannotWorkError
from kpolicy.policy.compile import shipped_names


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_shipped_policy_is_found_by_its_name() -> None:
    assert len(shipped_names()) >= 13
    for name in shipped_names():
        [source] = policy_sources(name)
        assert source.name == f"{name}.yaml"
        assert f"name: {name}\n" in str(source.text)


def test_a_file_of_that_name_comes_first(folder: Path) -> None:
    (folder / "demo").write_text("own")
    [source] = policy_sources("demo")
    assert source.text == b"own"


@pytest.mark.parametrize("name", ["bin-packing.test", "nothing", "../policies/demo"])
def test_other_names_are_files_that_are_not_there(name: str) -> None:
    with pytest.raises(CannotWorkError, match="cannot be read"):
        policy_sources(name)
