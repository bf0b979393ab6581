"""Draws what monitoring is shown: Grafana's dashboard, and the alerts as a cluster's Prometheus operator reads them.

``make dashboards`` writes both; a test fails while the files are behind, or where a query names no metric.
"""

import json
import sys
from collections.abc import Iterable, Iterator
from itertools import count
from pathlib import Path

import yaml
from pydantic import AliasChoices, Field, TypeAdapter

from keepstep.contracts.model import Strict

DASHBOARD = Path("deploy/grafana/keepstep.json")
ALERTS = Path("deploy/prometheus/alerts.yaml")
RULES = Path("k8s/components/prometheus/rules.yaml")
PANELS = Path("deploy/grafana/panels.yaml")
SOURCE = {"type": "prometheus", "uid": "${source}"}
WIDTH = 24
"""Columns of Grafana's grid."""


class Panel(Strict):
    """One chart or number: its title and what it means, its unit in Grafana's words, its queries with their legends."""

    title: str = Field(validation_alias=AliasChoices("chart", "stat"))
    means: str
    unit: str
    shows: tuple[dict[str, str], ...] | str
    """Of a chart legend and PromQL, one after the other; of a number its PromQL."""
    stacked: bool = False

    @property
    def is_number(self) -> bool:
        """Whether a single number is shown."""
        return isinstance(self.shows, str)

    @property
    def queries(self) -> tuple[tuple[str, str], ...]:
        """Legend and PromQL of each query."""
        if isinstance(self.shows, str):
            return (("", self.shows),)
        return tuple(pair for shown in self.shows for pair in shown.items())

    @property
    def size(self) -> tuple[int, int]:
        """Columns and rows of the grid."""
        return (3, 4) if self.is_number else (8, 8)


class Row(Strict):
    """A heading and what stands below it."""

    row: str
    panels: tuple[Panel, ...]


def rows(text: str) -> tuple[Row, ...]:
    """Return the dashboard's rows as ``panels.yaml`` has them. Raises ValidationError."""
    return TypeAdapter(tuple[Row, ...]).validate_python(yaml.safe_load(text))


def dashboard(told: Iterable[Row]) -> dict[str, object]:
    """Return the dashboard as Grafana imports it."""
    numbers = count(1)
    return {
        "uid": "keepstep",
        "title": "keepstep",
        "tags": ["keepstep"],
        "description": "Faults of training jobs, what was done about them and what they cost. Drawn: make dashboards.",
        "editable": True,
        "graphTooltip": 1,
        "refresh": "30s",
        "schemaVersion": 39,
        "time": {"from": "now-24h", "to": "now"},
        "timezone": "browser",
        "templating": {"list": _variables()},
        "annotations": {"list": []},
        "panels": list(_placed(told, numbers)),
    }


def _variables() -> list[dict[str, object]]:
    source: dict[str, object] = {"name": "source", "type": "datasource", "query": "prometheus", "label": "Prometheus"}
    asked = (("service", "keepstep_service_active"), ("job_name", "keepstep_job_wall_seconds"))
    return [source, *(_variable(label, metric) for label, metric in asked)]


def _variable(label: str, metric: str) -> dict[str, object]:
    return {
        "name": label,
        "type": "query",
        "datasource": SOURCE,
        "query": {"query": f"label_values({metric}, {label})", "refId": label},
        "refresh": 2,
        "sort": 1,
        "multi": True,
        "includeAll": True,
        "allValue": ".*",
        "current": {"text": ["All"], "value": ["$__all"]},
    }


def _placed(told: Iterable[Row], numbers: Iterator[int]) -> Iterator[dict[str, object]]:
    """Yield the panels from left to right and from top to bottom."""
    top = 0
    for one in told:
        place = {"h": 1, "w": WIDTH, "x": 0, "y": top}
        yield {"id": next(numbers), "type": "row", "title": one.row, "gridPos": place, "collapsed": False, "panels": []}
        top, left, height = top + 1, 0, 0
        for panel in one.panels:
            width, tall = panel.size
            if left + width > WIDTH:
                top, left = top + height, 0
            height = tall
            yield _panel(panel, next(numbers), {"h": height, "w": width, "x": left, "y": top})
            left += width
        top += height


def _panel(panel: Panel, number: int, place: dict[str, int]) -> dict[str, object]:
    drawn: dict[str, object] = {"lineWidth": 1, "fillOpacity": 30 if panel.stacked else 5, "showPoints": "never"}
    drawn["stacking"] = {"mode": "normal" if panel.stacked else "none"}
    return {
        "id": number,
        "type": "stat" if panel.is_number else "timeseries",
        "title": panel.title,
        "description": panel.means,
        "datasource": SOURCE,
        "gridPos": place,
        "targets": [
            {"refId": chr(ord("A") + at), "expr": expression, "legendFormat": legend, "datasource": SOURCE}
            for at, (legend, expression) in enumerate(panel.queries)
        ],
        "fieldConfig": {
            "defaults": {"unit": panel.unit, "min": 0, "custom": {} if panel.is_number else drawn},
            "overrides": [],
        },
        "options": {"reduceOptions": {"calcs": ["lastNotNull"]}} if panel.is_number else {},
    }


class _Dumper(yaml.SafeDumper):
    """Writes texts of several lines as such."""


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)


_Dumper.add_representer(str, _text)


def rules(alerts: str) -> str:
    """Return the alert rules as an object of the Prometheus operator."""
    body = {
        "apiVersion": "monitoring.coreos.com/v1",
        "kind": "PrometheusRule",
        "metadata": {"name": "keepstep", "labels": {"app.kubernetes.io/part-of": "keepstep"}},
        "spec": yaml.safe_load(alerts),
    }
    head = f"# Drawn from {ALERTS}: make dashboards\n"
    return head + yaml.dump(body, Dumper=_Dumper, sort_keys=False, width=120, allow_unicode=True)


def drawn(root: Path) -> dict[Path, str]:
    """Return what each drawn file holds, by its path below the repository's root."""
    alerts = (root / ALERTS).read_text(encoding="utf-8")
    shown = rows((root / PANELS).read_text(encoding="utf-8"))
    return {DASHBOARD: json.dumps(dashboard(shown), indent=1) + "\n", RULES: rules(alerts)}


def main() -> None:
    """Write the files below the folder that the first argument names."""
    root = Path(sys.argv[1])
    for path, text in drawn(root).items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
