"""The extender protocol as Go writes and reads it."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from hypothesis import given, strategies as st

from kpolicy.scheduler.extenders.protocol import (
    FilterAnswer,
    Unreadable,
    binding_args,
    node_names,
    read_binding,
    read_filter,
    read_priorities,
    whole_nodes,
)

POD = b'{"metadata":{"name":"p"}}'


def test_arguments_are_what_go_would_write() -> None:
    assert node_names(POD, ["n1", "n2"]) == (
        b'{"Pod":{"metadata":{"name":"p"}},"Nodes":null,"NodeNames":["n1","n2"]}'
    )
    assert whole_nodes(POD, [b'{"metadata":{"name":"n1"}}']) == (
        b'{"Pod":{"metadata":{"name":"p"}},'
        b'"Nodes":{"metadata":{},"items":[{"metadata":{"name":"n1"}}]},"NodeNames":null}'
    )
    assert binding_args("ns", "p", "u", "n1") == (
        b'{"PodName":"p","PodNamespace":"ns","PodUID":"u","Node":"n1"}'
    )


@pytest.mark.parametrize(
    ("body", "answer"),
    [
        (b"{}", FilterAnswer()),
        (b"null", FilterAnswer()),
        (b'{"NodeNames":["a","b"]}', FilterAnswer(names=("a", "b"))),
        (b'{"nodenames":[]}', FilterAnswer(names=())),
        (b'{"NodeNames":null,"Nodes":null,"FailedNodes":null,"Error":null}', FilterAnswer()),
        (
            b'{"Nodes":{"items":[{"metadata":{"name":"a"}},{"metadata":{"name":"b"}}]}}',
            FilterAnswer(nodes=("a", "b")),
        ),
        (b'{"Nodes":{"items":null}}', FilterAnswer(nodes=())),
        (b'{"Error":"no"} and more', FilterAnswer(error="no")),
        (b'  {"FAILEDNODES":{"a":"x"}}', FilterAnswer(failed={"a": "x"})),
        (
            b'{"FailedAndUnresolvableNodes":{"a":"x"},"Unknown":[1]}',
            FilterAnswer(unresolvable={"a": "x"}),
        ),
    ],
)
def test_a_filters_answer(body: bytes, answer: FilterAnswer) -> None:
    assert read_filter(body) == answer


@pytest.mark.parametrize(
    ("body", "scores"),
    [
        (b"[]", {}),
        (b"null", {}),
        (b'[{"Host":"a","Score":10},{"host":"b","score":0}]', {"a": 10, "b": 0}),
        (b'[{"Host":"a","Score":1},{"Host":"a","Score":2}]', {"a": 3}),
        (b'[{"Host":"a","Score":-5},{"Host":"b"}]', {"a": -5, "b": 0}),
    ],
)
def test_scores(body: bytes, scores: dict[str, int]) -> None:
    assert read_priorities(body) == scores


def test_the_answer_to_a_bind() -> None:
    assert read_binding(b'{"Error":"no device"}') == "no device"
    assert read_binding(b"{}") == ""


@pytest.mark.parametrize("read", [read_filter, read_priorities, read_binding])
@pytest.mark.parametrize(
    "body", [b"", b"licences", b"{", b"\xff\xfe", b"[" * 100_000, b'"text"', b"12", b"true"]
)
def test_what_is_no_answer_is_reported_to_be_none(
    read: Callable[[bytes], object], body: bytes
) -> None:
    assert isinstance(read(body), Unreadable)


@pytest.mark.parametrize(
    "body",
    [
        b'{"NodeNames":"a"}',
        b'{"NodeNames":[1]}',
        b'{"Nodes":[]}',
        b'{"Nodes":{"items":[1]}}',
        b'{"FailedNodes":["a"]}',
        b'{"FailedNodes":{"a":1}}',
        b'{"Error":{}}',
    ],
)
def test_types_are_checked(body: bytes) -> None:
    assert isinstance(read_filter(body), Unreadable)


@pytest.mark.parametrize(
    "body", [b'[{"Score":1.5}]', b'[{"Score":"1"}]', b'[{"Score":true}]', b"[1]", b'{"a":1}']
)
def test_scores_are_whole_numbers(body: bytes) -> None:
    assert isinstance(read_priorities(body), Unreadable)


def test_a_score_has_sixty_four_bits() -> None:
    assert isinstance(read_priorities(b'[{"Score":9223372036854775808}]'), Unreadable)


def test_reasons_are_cut() -> None:
    answer = read_filter(json.dumps({"FailedNodes": {"a": "x" * 5000}}).encode())
    assert isinstance(answer, FilterAnswer)
    assert len(answer.failed["a"]) == 1024


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["NodeNames", "nodes", "items", "metadata", "FailedNodes", "Host"]),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(_JSON | st.binary(max_size=50))
def test_nothing_raises(sent: object) -> None:
    body = sent if isinstance(sent, bytes) else json.dumps(sent).encode()
    for read in (read_filter, read_priorities, read_binding):
        assert read(body) is not None
