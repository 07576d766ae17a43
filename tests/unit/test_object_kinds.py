"""The files that follow from the table of API kinds are as `make generated` writes them."""

from __future__ import annotations

import pytest

from build.engine_tables import (
    BUILTIN_TABLE,
    KIND_TABLE,
    RELEASE_TABLE,
    ROLES,
    ZONE_TABLE,
    expected,
    role_text,
    word,
)
from kpolicy.engine import object_kinds
from kpolicy.object_kinds import OBJECT_KINDS
from kpolicy.offline.redaction.object_rules import KINDS
from kpolicy.scheduler.loop.watched_resources import RECORDED_ONLY, RESOURCES
from kpolicy.testing.objects.resource_types import BY_PATH


def test_every_file_is_as_the_table_says() -> None:
    files = expected()
    assert files.keys() == {BUILTIN_TABLE, RELEASE_TABLE, KIND_TABLE, ZONE_TABLE, *ROLES}
    for path, text in files.items():
        assert path.read_text() == text, f"{path}: run `make generated`"


def test_every_kind_is_watched_or_only_recorded_and_is_served_and_redacted() -> None:
    rows = [(*row, list(older)) for *row, older in OBJECT_KINDS]
    assert rows == [tuple(row) for row in object_kinds()]
    assert len(OBJECT_KINDS) == len(RESOURCES) + len(RECORDED_ONLY) == 20
    for kind in OBJECT_KINDS:
        group = f"/apis/{kind.group}" if kind.group else "/api"
        if kind.resource not in RECORDED_ONLY:
            assert RESOURCES[kind.resource].path == f"{group}/{kind.version}/{kind.resource}"
        assert BY_PATH[kind.group, kind.version, kind.resource].namespaced is kind.namespaced
        assert kind.name in KINDS


def test_words_are_names_as_the_api_writes_fields() -> None:
    assert [word(name) for name in ("StorageClass", "CSINode", "Pod")] == [
        "storageClass",
        "csiNode",
        "pod",
    ]


def test_a_role_without_the_marks_is_not_written() -> None:
    with pytest.raises(ValueError, match="the role lacks"):
        role_text("rules: []\n", "[list]")
