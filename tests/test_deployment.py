"""The deployment files name only what exists: modules, ports, variables, hosts, volumes."""

import importlib.util
import os
import re
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import yaml

from keepstep.contracts.taxonomy import Service
from keepstep.runtime.settings import Settings

ROOT = Path(__file__).parents[1]
COMPOSE = yaml.safe_load((ROOT / "docker-compose.yml").read_text(encoding="utf-8"))
SERVICES: dict[str, dict[str, object]] = COMPOSE["services"]
OURS = sorted(name for name, service in SERVICES.items() if service["image"] == "keepstep")
SIX = sorted(service.value for service in Service)


def environment(name: str) -> dict[str, str]:
    found = SERVICES[name].get("environment", {})
    assert isinstance(found, dict)
    return {str(key): str(value) for key, value in found.items()}


def command(name: str) -> list[str]:
    found = SERVICES[name]["command"]
    assert isinstance(found, list)
    return [str(word) for word in found]


def test_every_service_has_a_container_that_runs_its_module() -> None:
    for service in SIX:
        assert command(service) == [f"keepstep.{service.replace('-', '_')}"]


@pytest.mark.parametrize("name", OURS)
def test_the_module_of_a_container_can_be_run(name: str) -> None:
    spec = importlib.util.find_spec(command(name)[0])
    assert spec is not None
    if spec.submodule_search_locations is None:
        assert spec.origin is not None
        assert '__name__ == "__main__"' in Path(spec.origin).read_text(encoding="utf-8")
    else:
        assert importlib.util.find_spec(f"{spec.name}.__main__") is not None


@pytest.mark.parametrize("name", OURS)
def test_a_variable_of_a_container_is_a_setting(name: str) -> None:
    for variable in environment(name):
        assert variable.removeprefix("KEEPSTEP_").lower() in Settings.model_fields, variable


@pytest.mark.parametrize("name", SIX)
def test_the_settings_of_a_container_are_valid(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for variable, value in environment(name).items():
        monkeypatch.setenv(variable, expand(value))
    settings = Settings()
    assert settings.http_port == 8080
    assert urlsplit(settings.nats_url.get_secret_value()).port == 4222


def expand(text: str) -> str:
    """Return the text with compose's ``${NAME:-default}`` replaced by the default."""
    return re.sub(r"\$\{\w+:-([^}]*)\}", r"\1", text)


@pytest.mark.parametrize("name", OURS)
def test_a_host_in_a_variable_is_a_container(name: str) -> None:
    hosts = [urlsplit(expand(value)).hostname for value in environment(name).values() if "://" in value]
    assert hosts
    assert set(hosts) <= set(SERVICES)


@pytest.mark.parametrize("name", sorted(SERVICES))
def test_what_a_container_waits_for_mounts_and_shares_exists(name: str) -> None:
    service = SERVICES[name]
    assert set(service.get("depends_on", [])) <= set(SERVICES)  # type: ignore[call-overload]
    assert str(service.get("pid", "service:nats")).removeprefix("service:") in SERVICES
    for mount in service.get("volumes", []):  # type: ignore[attr-defined]
        source = mount.split(":")[0]
        assert (ROOT / source).is_file() if source.startswith("./") else source in COMPOSE["volumes"], mount


def test_prometheus_scrapes_the_six_services_at_their_port() -> None:
    config = yaml.safe_load((ROOT / "deploy/prometheus.yml").read_text(encoding="utf-8"))
    (scrape,) = config["scrape_configs"]
    targets = [target for group in scrape["static_configs"] for target in group["targets"]]
    assert sorted(targets) == sorted(f"{name}:{environment(name)['KEEPSTEP_HTTP_PORT']}" for name in SIX)


def test_the_services_that_touch_the_cluster_see_its_folder_and_processes() -> None:
    for name in ("isolator", "scheduler-adapter"):
        folder = environment(name)["KEEPSTEP_CLUSTER"].removeprefix("local:")
        assert f"cluster:{folder}" in SERVICES[name]["volumes"]  # type: ignore[operator]
        assert SERVICES[name]["pid"] == "service:node-1"
    for name in ("node-1", "node-2"):
        node = Path(command(name)[-1])
        assert f"cluster:{node.parent.parent}" in SERVICES[name]["volumes"]  # type: ignore[operator]
        assert node.parent.name == "nodes"


def test_the_image_is_built_from_what_is_here() -> None:
    text = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    for line in re.findall(r"^COPY (?!--from)(.+)$", text, flags=re.MULTILINE):
        *sources, _ = line.split()
        assert all((ROOT / source).exists() for source in sources), line
    extras = re.search(r"'\.\[([\w,]+)\]'", text)
    assert extras is not None
    pyproject = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert all(re.search(rf"^{extra} = \[", pyproject, flags=re.MULTILINE) for extra in extras[1].split(","))


def test_the_toy_job_runs_an_example_that_is_in_the_image() -> None:
    script = Path(command("toy-job")[-1])
    assert (ROOT / "examples" / script.name).is_file()
    assert str(script.parent) == "/opt/keepstep/examples"


def test_the_ci_script_can_be_executed() -> None:
    assert os.access(ROOT / ".ci" / "run", os.X_OK)
