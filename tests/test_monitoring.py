"""Alerts and the dashboard name only metrics and labels that there are; what is drawn from them is current."""

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from prometheus_client.core import Metric

from keepstep.cli.main import COMMANDS
from keepstep.cli.monitoring import ALERTS, DASHBOARD, PANELS, drawn, rows
from keepstep.contracts.taxonomy import Service
from keepstep.runtime.metrics import Metrics
from keepstep.runtime.rights_of_pods import GATE

ROOT = Path(__file__).parents[1]
GROUPS = yaml.safe_load((ROOT / ALERTS).read_text(encoding="utf-8"))["groups"]
RULES = [rule for group in GROUPS for rule in group["rules"]]
FIRING = [pytest.param(rule, id=rule["alert"]) for rule in RULES if "alert" in rule]
TESTS = ROOT / ALERTS.with_name("alerts_test.yaml")
ENDINGS = {"counter": ("_total",), "histogram": ("_bucket", "_sum", "_count"), "gauge": ("",)}


def series() -> dict[str, set[str]]:
    """Return every series that a scrape can have, with its labels."""
    metrics = Metrics()
    found: dict[str, set[str]] = {"up": {"job", "instance"}}
    for family in [*metrics.registry.collect(), *metrics.figures.describe()]:
        bound = {"le"} if family.type == "histogram" else set()
        found |= {family.name + ending: _labels(metrics, family) | bound for ending in ENDINGS[family.type]}
    return found | {rule["record"]: set() for rule in RULES if "record" in rule}


def _labels(metrics: Metrics, family: Metric) -> set[str]:
    own = getattr(family, "_labelnames", None)  # a family knows its labels, and says them nowhere
    if own is not None:
        return set(own)
    [counted] = [one for one in vars(metrics).values() if getattr(one, "_name", None) == family.name]
    return set(counted._labelnames)


SERIES = series()


def expressions() -> Iterator[str]:
    yield from (rule["expr"] for rule in RULES)
    for row in rows((ROOT / PANELS).read_text(encoding="utf-8")):
        yield from (query for panel in row.panels for _, query in panel.queries)


def wrong(expression: str) -> list[str]:
    """Return which series of a query are none, and which labels they do not have."""
    named = re.findall(r"\b(keepstep[a-z_:0-9]+|up)\b(?:\{([^}]*)\})?", expression)
    found = [name for name, _ in named if name not in SERIES]
    for name, matchers in named:
        asked = set(re.findall(r"(\w+)\s*(?:=~|!~|!=|=)", matchers))
        found += [f"{name}{{{label}}}" for label in sorted(asked - SERIES.get(name, asked))]
    grouped = {
        label.strip() for text in re.findall(r"\b(?:by|on) \(([^)]*)\)", expression) for label in text.split(",")
    }
    known = {label for name, _ in named for label in SERIES.get(name, ())}
    return [*found, *sorted(grouped - known)]


@pytest.mark.parametrize("expression", sorted(set(expressions())))
def test_a_query_names_series_and_labels_that_there_are(expression: str) -> None:
    assert not wrong(expression)


@pytest.mark.parametrize(
    "expression",
    ["keepstep_nonsense > 1", 'keepstep_faults_total{rank="1"}', "sum by (node) (keepstep_queue_lag_messages)"],
)
def test_the_check_of_queries_sees_what_is_wrong(expression: str) -> None:
    assert wrong(expression)


def test_every_metric_is_on_the_dashboard_or_in_an_alert() -> None:
    asked = " ".join(expressions())
    families = {re.sub(r"_(bucket|sum|count)$", "", name) for name in SERIES if not name.endswith("_created")}
    assert not {name for name in families if name not in asked}


@pytest.mark.parametrize("rule", FIRING)
def test_an_alert_says_what_it_means_and_what_to_do(rule: dict[str, dict[str, str]]) -> None:
    assert rule["labels"]["severity"] in ("warning", "critical")
    assert rule["annotations"]["summary"]
    assert len(rule["annotations"]["runbook"].split()) >= 10
    commands = re.findall(r"`keepstep ([a-z]+)", rule["annotations"]["runbook"])
    assert set(commands) <= {*COMMANDS, "notify", "report"}


@pytest.mark.parametrize("rule", FIRING)
def test_an_alert_has_a_test_in_which_it_fires(rule: dict[str, str]) -> None:
    assert rule["alert"] in TESTS.read_text(encoding="utf-8")


@pytest.mark.skipif(shutil.which("promtool") is None, reason="promtool is not installed (Debian: prometheus)")
@pytest.mark.parametrize(
    "arguments",
    [["check", "rules", str(ROOT / ALERTS)], ["test", "rules", str(TESTS)]],
    ids=["the rules are clean", "each alert fires on what it is for"],
)
def test_promtool_finds_nothing(arguments: list[str]) -> None:
    done = subprocess.run(["promtool", *arguments], capture_output=True, text=True, check=False, env=os.environ)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.skipif(shutil.which("promtool") is None, reason="promtool is not installed (Debian: prometheus)")
def test_promtool_takes_the_scrape(tmp_path: Path) -> None:
    done = subprocess.run(["promtool", "check", "metrics"], input=Metrics().text(), capture_output=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.skipif(shutil.which("promtool") is None, reason="promtool is not installed (Debian: prometheus)")
def test_promtool_takes_the_configuration_of_the_containers(tmp_path: Path) -> None:
    for source in ("deploy/prometheus.yml", str(ALERTS)):
        shutil.copy(ROOT / source, tmp_path)
    command = ["promtool", "check", "config", str(tmp_path / "prometheus.yml")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "rules found" in done.stdout


@pytest.mark.parametrize(("path", "text"), drawn(ROOT).items(), ids=lambda value: str(value)[:40])
def test_what_is_drawn_is_current(path: Path, text: str) -> None:
    assert (ROOT / path).read_text(encoding="utf-8") == text, "run: make dashboards"


def test_no_panel_lies_on_another() -> None:
    panels = json.loads((ROOT / DASHBOARD).read_text(encoding="utf-8"))["panels"]
    taken: set[tuple[int, int]] = set()
    for panel in panels:
        place = panel["gridPos"]
        columns, lines = range(place["x"], place["x"] + place["w"]), range(place["y"], place["y"] + place["h"])
        covered = {(column, line) for column in columns for line in lines}
        assert not covered & taken, panel["title"]
        assert max(columns) < 24
        taken |= covered
    assert len({panel["id"] for panel in panels}) == len(panels)


def test_the_cluster_s_prometheus_is_led_to_every_process_that_counts() -> None:
    [monitor] = yaml.safe_load_all((ROOT / "k8s/components/prometheus/monitor.yaml").read_text(encoding="utf-8"))
    [_, names] = monitor["spec"]["selector"]["matchExpressions"]
    assert set(names["values"]) == {*Service, GATE}
    [endpoint] = monitor["spec"]["podMetricsEndpoints"]
    for name in names["values"]:
        workload = next(yaml.safe_load_all((ROOT / f"k8s/base/{name}.yaml").read_text(encoding="utf-8")))
        template = workload["spec"]["template"]
        assert template["metadata"]["labels"]["app.kubernetes.io/part-of"] == "keepstep"
        ports = [port["name"] for port in template["spec"]["containers"][0]["ports"]]
        assert endpoint["port"] in ports
