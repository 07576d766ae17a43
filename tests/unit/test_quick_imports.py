"""What packages do not load for kpolicy is there as soon as somebody uses it."""

from __future__ import annotations

import dataclasses
import os
import re
import subprocess
import sys
from threading import Thread

import pytest

from kpolicy.quick_imports import classes_made_quickly, patterns_when_used


def printed(code: str, **environ: str) -> str:
    """What a new process prints that has begun as one of kpolicy."""
    begun = f"from kpolicy.quick_imports import skip_unused_imports; skip_unused_imports(); {code}"
    others = {name: value for name, value in os.environ.items() if not name.startswith("PYDANTIC")}
    done = subprocess.run(
        [sys.executable, "-c", begun],
        capture_output=True,
        text=True,
        check=True,
        env=others | environ,
    )
    return done.stdout.strip()


MODEL = "import sys; from pydantic import BaseModel; type('M', (BaseModel,), {})();"


def test_pydantic_works_without_openssl_and_without_a_search_for_plugins() -> None:
    shown = f"{MODEL} print([m for m in ('_hashlib', 'importlib.metadata') if m in sys.modules])"
    assert printed(shown) == "[]"


def test_plugins_of_pydantic_are_found_where_they_are_wanted() -> None:
    shown = f"{MODEL} print('importlib.metadata' in sys.modules)"
    assert printed(shown, PYDANTIC_DISABLE_PLUGINS="") == "True"


@pytest.mark.parametrize(
    "use",
    [
        "import secrets; print(len(secrets.token_bytes(5)))",
        "from secrets import token_bytes; import secrets; print(len(secrets.token_bytes(5)))",
        "import secrets as s; s.choice; import secrets; print(5 * (s is not secrets))",
        "from pydantic import SecretStr; print(5 * (SecretStr('a') == SecretStr('a')))",
    ],
    ids=["the module", "a name", "both", "pydantic"],
)
def test_a_module_that_was_put_off_is_there(use: str) -> None:
    assert printed(use) == "5"


def test_patterns_are_compiled_when_they_are_used() -> None:
    with patterns_when_used():
        late, wrong = re.compile("(?P<year>[0-9]{4})-", re.ASCII), re.compile("(")
    assert isinstance(re.compile("now"), re.Pattern)
    matches: list[str] = []
    threads = [Thread(target=lambda: matches.append(late.match("2026-11")["year"])) for _ in "ab"]  # type: ignore[index]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert matches == ["2026"] * 2
    assert late.groupindex == {"year": 1}
    with pytest.raises(re.error, match="missing"):
        wrong.match("")


def test_classes_within_are_dataclasses_all_the_same() -> None:
    standard = dataclasses.dataclass
    with classes_made_quickly():

        @dataclasses.dataclass(frozen=True, slots=True)
        class Quick:
            size: int
            name: str = ""

        @dataclasses.dataclass
        class Plain:
            size: int

        @dataclasses.dataclass(order=True, slots=True)
        class Ordered:
            size: int

    assert dataclasses.dataclass is standard
    assert dataclasses.astuple(dataclasses.replace(Quick(1), name="a")) == (1, "a")
    assert (repr(Plain(2)).endswith("Plain(size=2)"), Ordered(1) < Ordered(2)) == (True, True)


def test_a_library_leaves_everything_as_it_is() -> None:
    shown = (
        "import kpolicy.policy.models.scheduling_policy, kpolicy.policy.yaml.tree_reader, re; "
        "import yaml.reader; from annotated_types import Ge; "
        "from pydantic.types import UuidVersion; "
        "print(Ge.__repr__ is UuidVersion.__repr__, "
        "isinstance(yaml.reader.Reader.NON_PRINTABLE, re.Pattern))"
    )
    done = subprocess.run([sys.executable, "-c", shown], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False True"


def test_models_load_packages_with_less_work() -> None:
    shown = (
        "import kpolicy.policy.models.scheduling_policy, kpolicy.policy.yaml.tree_reader, re; "
        "import annotated_types, yaml.reader; from pydantic.types import UuidVersion; "
        "print(annotated_types.Ge.__repr__ is UuidVersion.__repr__, annotated_types.Ge(3), "
        "isinstance(yaml.reader.Reader.NON_PRINTABLE, re.Pattern), yaml.safe_load('[a: 1]'))"
    )
    assert printed(shown) == "True Ge(ge=3) False [{'a': 1}]"
