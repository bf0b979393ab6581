"""Alerts and the dashboard name only metrics and labels that there are; what is drawn from them is current."""

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
import yaml
from prometheus_client.core import Metric

from keepstep.cli.monitoring import ALERTS, DASHBOARD, PANELS, drawn, rows
from keepstep.contracts.ids import JobUid, NodeName
from keepstep.contracts.taxonomy import Service
from keepstep.core.ettr import Run
from keepstep.core.figures import Figures
from keepstep.core.job_figures import JobFigures
from keepstep.isolator.core.guard import budget_left
from keepstep.ports.cluster import NodeStatus
from keepstep.ports.roll import Roll
from keepstep.runtime.connection import Link
from keepstep.runtime.metrics import LET_IN, TURNED_AWAY, Metrics
from keepstep.runtime.rights_of_pods import GATE
from tests.commands import wrong_in

ROOT = Path(__file__).parents[1]
GROUPS = yaml.safe_load((ROOT / ALERTS).read_text(encoding="utf-8"))["groups"]
RULES = [rule for group in GROUPS for rule in group["rules"]]
FIRING = [pytest.param(rule, id=rule["alert"]) for rule in RULES if "alert" in rule]
TESTS = ROOT / ALERTS.with_name("alerts_test.yaml")
NEEDS_PROMTOOL = pytest.mark.skipif(
    shutil.which("promtool") is None, reason="promtool is not installed (Debian: prometheus)"
)
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


def begun() -> Metrics:
    """Return the metrics of a process that does all and in which nothing has happened yet."""
    metrics = Metrics()
    for service in Service:
        metrics.begin(service, Link())
    for outcome in (LET_IN, TURNED_AWAY):
        metrics.knocks.labels(outcome)
    for room in budget_left(Roll([NodeStatus(NodeName("n"), ready=True, group="g")]).census, ()):
        metrics.guard_left.labels(room)
    metrics.figures.show(lambda: (Figures(), datetime.now(UTC)))
    return metrics


def closed() -> dict[str, set[str]]:
    """Return the values of each label that has a closed set of them."""
    found: dict[str, set[str]] = {"job": {"keepstep"}}
    for family in begun().registry.collect():
        for sample in family.samples:
            for label, value in sample.labels.items():
                found.setdefault(label, set()).add(value)
    return found


VALUES = closed()


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
        meant = re.findall(r'(\w+)\s*=\s*"([^"$]+)"', matchers)
        found += [f'{name}{{{label}="{value}"}}' for label, value in meant if value not in VALUES.get(label, {value})]
    grouped = {
        label.strip() for text in re.findall(r"\b(?:by|on) \(([^)]+)\)", expression) for label in text.split(",")
    }
    known = {label for name, _ in named for label in SERIES.get(name, ())}
    return [*found, *sorted(grouped - known)]


@pytest.mark.parametrize("expression", sorted(set(expressions())))
def test_a_query_names_series_and_labels_that_there_are(expression: str) -> None:
    assert not wrong(expression)


@pytest.mark.parametrize(
    "expression",
    [
        "keepstep_nonsense > 1",
        'keepstep_faults_total{rank="1"}',
        "sum by (node) (keepstep_queue_lag_messages)",
        'keepstep_knocks_total{outcome="turned-away"}',
        'keepstep_incident_stage_seconds_sum{stage="detection"}',
        'keepstep_service_active{service="checkpoint_manager"}',
    ],
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
    commands = re.findall(r"`(keepstep [^`]+)`", " ".join(rule["annotations"]["runbook"].split()))
    assert not [line for line in commands if wrong_in(line)]


@pytest.mark.parametrize("rule", FIRING)
def test_an_alert_has_a_test_in_which_it_fires(rule: dict[str, str]) -> None:
    assert rule["alert"] in TESTS.read_text(encoding="utf-8")


@NEEDS_PROMTOOL
@pytest.mark.parametrize(
    "arguments",
    [["check", "rules", str(ROOT / ALERTS)], ["test", "rules", str(TESTS)]],
    ids=["the rules are clean", "each alert fires on what it is for"],
)
def test_promtool_finds_nothing(arguments: list[str]) -> None:
    done = subprocess.run(["promtool", *arguments], capture_output=True, text=True, check=False, env=os.environ)
    assert done.returncode == 0, done.stdout + done.stderr


@NEEDS_PROMTOOL
def test_promtool_takes_every_query_of_the_dashboard(tmp_path: Path) -> None:
    """As a rule, since there it parses what it is given; variables stand within quotes."""
    asked = [{"record": f"panel:{at}", "expr": one} for at, one in enumerate(sorted(set(expressions())))]
    path = tmp_path / "rules.yaml"
    path.write_text(yaml.safe_dump({"groups": [{"name": "panels", "rules": asked}]}), encoding="utf-8")
    done = subprocess.run(["promtool", "check", "rules", str(path)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@NEEDS_PROMTOOL
def test_promtool_takes_the_scrape_of_a_process_that_does_all() -> None:
    """It says nothing of a family without a series: of an empty scrape it found all well."""
    metrics, now = begun(), datetime.now(UTC)
    job = JobFigures(name="train", run=Run(accepted=now, started=now), saves=True)
    metrics.figures.show(lambda: (Figures(jobs={JobUid("j"): job}), now))
    for family in (metrics.events, metrics.decided, metrics.failures, metrics.ignored, metrics.lag):
        family.labels(*("x" for _ in family._labelnames))
    done = subprocess.run(["promtool", "check", "metrics"], input=metrics.text(), capture_output=True, check=False)
    assert done.returncode == 0, done.stderr


@NEEDS_PROMTOOL
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
