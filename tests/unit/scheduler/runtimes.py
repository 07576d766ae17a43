"""Runtimes and queue feeds for tests of single parts of the scheduler."""

from __future__ import annotations

from random import Random

from kpolicy.clock import Clock
from kpolicy.engine import Engine
from kpolicy.scheduler.loop.queue import Queue
from kpolicy.scheduler.loop.queue_feed import QueueFeed, Signals
from kpolicy.scheduler.runtime import EngineThread, Runtime
from kpolicy.telemetry.scheduler_metrics import SchedulerMetrics
from kpolicy.telemetry.traces import Traces


def runtime_of(engine: Engine, clock: Clock) -> Runtime:
    """Its thread is to be stopped by the test."""
    metrics = SchedulerMetrics()
    return Runtime(clock, EngineThread(engine, clock, metrics), metrics, Traces(), Random(1))


def feed_of(clock: Clock, queue: Queue) -> QueueFeed:
    return QueueFeed(queue, clock, Signals())
