"""The map of the nodes of a cluster, by zone and rack; a node has the shade of how full it is."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from kpolicy.offline.limits import PAGE_NODES_MAX
from kpolicy.offline.pages.chart import Drawing, Fill, Option, fill_of, shades
from kpolicy.offline.reports.columns import counted

_NO_ZONE: Final = "no zone"
_NO_RACK: Final = "no rack"
# With more nodes than this, space between them would be most of the map.
_DENSE: Final = 400


@dataclass(frozen=True, slots=True)
class MapNode:
    """`fills` has one for each view of the map. `notes` are further lines of its tooltip."""

    name: str
    zone: str
    rack: str
    fills: tuple[Fill, ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class NodeMap:
    """`views` are what the map shows in turn, such as `cpu before`. More nodes than the map can
    hold are one tile for each rack."""

    title: str
    views: tuple[str, ...]
    nodes: Sequence[MapNode]
    about: str = ""

    def drawing(self) -> Drawing:
        zones: dict[str, dict[str, list[MapNode]]] = defaultdict(lambda: defaultdict(list))
        for node in self.nodes:
            zones[node.zone][node.rack].append(node)
        is_by_rack = len(self.nodes) > PAGE_NODES_MAX
        is_dense = len(self.nodes) > _DENSE
        fills = {fill for node in self.nodes for fill in node.fills}
        rejected = any(fill is not None and fill < 0 for fill in fills)
        option: Option = {
            "visualMap": shades(rejected=rejected, nothing="no value" if None in fills else ""),
            "series": [
                {
                    "type": "treemap",
                    "painted": True,
                    "data": [
                        self._zone(zone, racks, is_by_rack) for zone, racks in sorted(zones.items())
                    ],
                    "sort": False,
                    "roam": False,
                    "nodeClick": "zoomToNode",
                    "name": "all nodes",
                    "left": 0,
                    "right": 0,
                    "top": 4,
                    "bottom": 76,
                    "breadcrumb": {
                        "bottom": 38,
                        "itemStyle": {
                            "color": "@raised",
                            "borderColor": "@line",
                            "textStyle": {"color": "@text"},
                        },
                        "emphasis": {"itemStyle": {"color": "@line"}},
                    },
                    "itemStyle": {"borderColor": "@surface", "borderWidth": 1, "gapWidth": 1},
                    "label": {"show": True, "overflow": "truncate", "fontSize": 11},
                    "upperLabel": {
                        "show": True,
                        "height": 20,
                        "color": "@text",
                        "overflow": "truncate",
                    },
                    "levels": _levels(is_dense),
                }
            ],
        }
        height = 640 if is_dense else 460
        return Drawing(option, self._summary(), height, width_min=380, views=self.views)

    def _zone(self, name: str, racks: Mapping[str, Sequence[MapNode]], is_by_rack: bool) -> Option:
        if is_by_rack:
            tiles = [self._tile(rack or _NO_RACK, nodes) for rack, nodes in sorted(racks.items())]
        elif set(racks) == {""}:
            tiles = [self._node(node) for node in racks[""]]
        else:
            tiles = [
                {"name": rack or _NO_RACK, "children": [self._node(node) for node in nodes]}
                for rack, nodes in sorted(racks.items())
            ]
        return {"name": name or _NO_ZONE, "children": tiles}

    def _node(self, node: MapNode) -> Option:
        notes = {"notes": list(node.notes)} if node.notes else {}
        fills = [fill_of(fill) for fill in node.fills]
        return {"name": node.name, "value": 1, "fills": fills, "tip": [node.name], **notes}

    def _tile(self, rack: str, nodes: Sequence[MapNode]) -> Option:
        fills = [_mean([node.fills[view] for node in nodes]) for view in range(len(self.views))]
        tip = f"{rack}: {counted(len(nodes), 'node')}"
        return {"name": rack, "value": len(nodes), "fills": fills, "tip": [tip]}

    def _summary(self) -> str:
        zones = {node.zone for node in self.nodes}
        where = f"{counted(len(self.nodes), 'node')} in {counted(len(zones), 'zone')}"
        return f"{self.title}: a map of {where}."


def _levels(is_dense: bool) -> list[Option]:
    """Of all nodes, a zone, a rack and a node: the space around each, and between its parts."""
    gaps = ((4, 3), (2, 2), (1, 0), (0, 0)) if is_dense else ((4, 4), (3, 3), (2, 2), (1, 1))
    levels: list[Option] = [
        {"itemStyle": {"borderColor": "@surface", "borderWidth": around, "gapWidth": between}}
        for around, between in gaps
    ]
    levels[0]["upperLabel"] = {"show": False}
    return levels


def _mean(fills: Sequence[Fill]) -> Fill:
    """Of those that have a share; rejected if all are."""
    shares = [fill for fill in fills if fill is not None and fill >= 0]
    if shares:
        return fill_of(sum(shares) / len(shares))
    return next((fill for fill in fills if fill is not None), None)
