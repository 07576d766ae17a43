"""The policy of docs/testing-policies.md, tested in Python."""

from pathlib import Path

from kpolicy.testing import load_policy, node, pod

POLICY = load_policy(Path(__file__).with_name("gpu.yaml"))
A100 = {"resources": {"nvidia.com/gpu": "8"}, "labels": {"gpu": "a100"}}


def test_research_may_use_a100_but_not_h100() -> None:
    world = POLICY.world(node("n1", **A100), node("n2", **(A100 | {"labels": {"gpu": "h100"}})))
    train = pod("train", resources={"nvidia.com/gpu": "1"}, labels={"team": "research"})
    decision = world.decide(train).assert_placed("n1")
    decision.assert_rejected("n2", by="team-pool", reason="PoolForbidden")
    assert decision.score("n1", "pack-gpus") == 12
