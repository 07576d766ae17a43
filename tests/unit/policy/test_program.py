"""The program document, as far as the shell changes it."""

from __future__ import annotations

import json

from kpolicy.policy.compile import compile_policy


def test_a_shell_that_evicts_nobody_loads_the_same_program_but_for_that() -> None:
    program = compile_policy(()).program
    assert program is not None
    whole, without = json.loads(program.bytes), json.loads(program.never_evicting())
    assert whole["profiles"][0]["preemption"]["policy"] == "LowerPriority"
    for profile in (*whole["profiles"], *without["profiles"]):
        del profile["preemption"]
    assert whole == without
    assert b'"preemption":{"policy":"Never"}' in program.never_evicting()
