"""The phases of a simulated run: trouble, repair, and rest. Also decides what stays broken for
good.
"""

from __future__ import annotations

from typing import Final

from tests.simulation.extender import MAY_ASK, Fault
from tests.simulation.policies import GOOD
from tests.simulation.policy_map import kept_hash
from tests.simulation.remains import Remains
from tests.simulation.trouble import Mood
from tests.simulation.world import Plan, Run, World, world_of

CONVERGE_S: Final = 180.0
REST_S: Final = 60.0
# In this time, calls of plugins that have begun end.
PLUGINS_END_S: Final = 10.0


def run(plan: Plan) -> Run:
    with world_of(plan) as world:
        live(world)
        remains = heal(world)
        calm_ns = world.time.now_ns
        world.pass_time(CONVERGE_S + REST_S)
        return world.finished_run(calm_ns, converge_s=CONVERGE_S, rest_s=REST_S, remains=remains)


def live(world: World) -> None:
    """Safety: changes and faults, until the people have done all their steps."""
    begin(world)
    chance = world.random
    steps, pause_s = chance.randint(20, 70), chance.choice((0.2, 1.0, 4.0))
    living = world.begin(world.people.live(steps, pause_s))
    world.begin(world.people.run_kubelets())
    world.begin(world.nemesis.revive())
    raging = None
    if not world.plan.calm:
        mood = Mood(requests=chance.choice((0, 0.02, 0.1)), events=chance.choice((0, 0.03)))
        pause_s = chance.choice((2.0, 8.0, 30.0))
        raging = world.begin(world.nemesis.rage(mood, pause_s, world.plan.acts))
    world.until(living)
    if raging is not None:
        world.pass_time(chance.random() * 30)
        raging.cancel()
    world.pass_time(0.01)


def begin(world: World) -> None:
    world.people.begin()
    world.offered.begin()
    if world.setting.has_volumes:
        world.storage.begin()
        world.people.also(world.storage.steps)
        world.begin(world.storage.run_controllers())
    if world.setting.has_devices:
        world.devices.begin()
        world.people.also(world.devices.steps)
        world.begin(world.devices.run_controllers())
    if world.setting.has_budgets:
        world.people.also(world.budgets.steps)
        world.begin(world.budgets.run_controller())
    for instance in world.instances:
        instance.start()


def heal(world: World) -> Remains:
    """Liveness: ends all faults except the one that stays, and returns that."""
    world.nemesis.heal()
    world.people.calm = True
    world.extender.fault = Fault.NONE
    remains = world.setting.remains if can_remain(world) else Remains.NOTHING
    if remains is Remains.EXTENDER_DEAD:
        world.extender.fault = Fault.SILENT
        world.offered.put(MAY_ASK)
    elif remains is Remains.POLICY_GONE:
        world.offered.spoil(world.random)
    elif not world.offered.offers[-1].hash:
        world.offered.put(GOOD[0])
    if world.setting.has_plugins:
        world.plugs.calm = True
        world.pass_time(PLUGINS_END_S)
        lives = [instance.life for instance in world.instances if instance.life is not None]
        world.plugs.let_go([life.machine.run_id for life in lives])
    # What an extender answers can change without an event. A pod that it refused is tried again
    # after the next event of the cluster, as with kube-scheduler. The same holds for plugins.
    world.people.touch_node()
    if remains.is_about_the_standby:
        standby = next(instance for instance in reversed(world.instances) if not instance.leads)
        link = world.network.link(standby.host)
        link.deaf, link.mute = remains is Remains.STANDBY_DEAF, remains is Remains.STANDBY_MUTE
    world.troubles.lasting = remains.trouble_of
    world.nemesis.counts[remains.value] += 1
    return remains


def can_remain(world: World) -> bool:
    """Whether this fault can stay: a standby needs a leader, a missing policy needs a kept one, and
    pods with extended resources need their status written before they are bound."""
    remains = world.setting.remains
    if remains is Remains.STATUS_FAILING:
        return not (world.setting.has_devices and world.devices.are_extended_asked_for())
    if remains.is_about_the_standby:
        return len(world.instances) > 1
    return remains is not Remains.POLICY_GONE or bool(kept_hash(world.api))
