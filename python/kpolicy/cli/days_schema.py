"""The JSON Schema of simulated days, and of sweeps over them."""

from __future__ import annotations

from typing import Final

from kpolicy.cli.schema_parts import any_object, list_of, object_of, text_of, whole_number_of

_SAMPLE: Final = object_of(
    {
        "time": text_of("The time of the sample."),
        "nodes": whole_number_of("How many nodes there are."),
        "running": whole_number_of("How many pods are on nodes."),
        "pending": whole_number_of("How many pods have no node."),
        "arrived": whole_number_of("How many pods came since the sample before."),
        "placed": whole_number_of("How many got a node since then."),
        "ended": whole_number_of("How many ended since then."),
        "preempted": whole_number_of("How many were evicted for another pod since then."),
        "displaced": whole_number_of("How many lost their node since then."),
        "attempts": whole_number_of("How many decisions there were since then."),
        "waitSeconds": any_object(
            "Percentiles of how long the pods waited that got a node since then."
        ),
        "resources": any_object(
            "By resource: allocatable, requested, and as shares allocation, fragmentation, "
            "imbalance."
        ),
    }
)
_CELL: Final = object_of(
    {
        "policy": text_of("The policy."),
        "values": any_object("The values that --set gave."),
        "seed": whole_number_of("The seed."),
        "figures": any_object("The figures of these days, by name."),
    }
)
DAYS_SCHEMA: Final = object_of(
    {
        "samples": list_of(_SAMPLE, "The figures over time, at equal distances."),
        "summary": any_object("The figures of all the time."),
    }
)
SWEEP_SCHEMA: Final = object_of(
    {
        "cells": list_of(_CELL, "The cells, in order."),
        "variants": list_of(
            object_of({"policy": text_of("The policy."), "figures": any_object("Spreads.")}),
            "Each policy with values: of each figure mean, deviation, least and most.",
        ),
    }
)
