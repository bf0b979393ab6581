"""The deployment files name only what exists: modules, ports, variables, hosts, volumes."""

import importlib.util
import os
import re
import subprocess
import sys
from datetime import timedelta
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import yaml

from keepstep.console.settings import ConsoleSettings
from keepstep.contracts.subjects import AGENT, PEOPLE
from keepstep.contracts.taxonomy import Service
from keepstep.notifier.settings import Settings as NotifierSettings
from keepstep.runtime.client import Client
from keepstep.runtime.nats_server import MAX_PAYLOAD
from keepstep.runtime.nats_users import machine_text, variable
from keepstep.runtime.rights import CONSOLE, DEFAULT, all_rights
from keepstep.runtime.settings import Settings
from tests.rights.guarded import running

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
    own = {f"notifier_{field}" for field in NotifierSettings.model_fields}
    for told in environment(name):
        assert told.removeprefix("KEEPSTEP_").lower() in {*ConsoleSettings.model_fields, *own}, told


@pytest.mark.parametrize("name", SIX)
def test_the_settings_of_a_container_are_valid(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for told, value in environment(name).items():
        monkeypatch.setenv(told, expand(value))
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
    assert set(service.get("depends_on", [])) <= set(SERVICES)  # type: ignore[call-overload]  # YAML; depends_on is a list or a table
    assert str(service.get("pid", "service:nats")).removeprefix("service:") in SERVICES
    for mount in service.get("volumes", []):  # type: ignore[attr-defined]  # YAML; volumes are a list
        source = mount.split(":")[0]
        assert (ROOT / source).exists() if source.startswith("./") else source in COMPOSE["volumes"], mount


def test_each_container_is_its_own_user_of_the_bus() -> None:
    users = {name: urlsplit(expand(environment(name)["KEEPSTEP_NATS_URL"])).username for name in OURS}
    nodes = {name: AGENT for name in OURS if name.startswith("node-")}
    assert users == {**{name: name for name in (*SIX, CONSOLE)}, **nodes, "toy-job": PEOPLE}


def test_the_bus_is_given_the_password_of_every_user_and_each_container_the_same_one() -> None:
    given = environment("nats")
    assert set(given) == {variable(rights.user) for rights in all_rights(DEFAULT)}
    for name in OURS:
        url = urlsplit(environment(name)["KEEPSTEP_NATS_URL"])
        assert url.netloc.partition("@")[0].partition(":")[2] == given[variable(str(url.username))]


def test_the_users_of_the_bus_are_current(tmp_path: Path) -> None:
    text = (ROOT / "deploy/users.conf").read_text(encoding="utf-8")
    assert text == machine_text([DEFAULT]), "run: make rights"
    assert '"./deploy/users.conf' in str(SERVICES["nats"]["volumes"]).replace("'", '"')


def test_passwords_are_drawn_into_a_file_of_its_owner_and_never_again(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "keepstep.cli.machine_secrets", str(tmp_path / ".env")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    lines = (tmp_path / ".env").read_text(encoding="utf-8").splitlines()
    assert {line.partition("=")[0] for line in lines} == set(environment("nats"))
    assert len({line.partition("=")[2] for line in lines}) == len(lines)
    assert ((tmp_path / ".env").stat().st_mode & 0o077, done.stdout) == (0, "")
    assert subprocess.run(command, capture_output=True, check=False).returncode == 1


async def test_the_bus_of_the_containers_lets_each_in(tmp_path: Path) -> None:
    for name in ("nats.conf", "users.conf"):
        text = (ROOT / "deploy" / name).read_text(encoding="utf-8")
        (tmp_path / name).write_text(text, encoding="utf-8")
    config = (tmp_path / "nats.conf").read_text(encoding="utf-8").replace('"/data"', f'"{tmp_path}/store"')
    config = f"ports_file_dir: {tmp_path}\n" + config.replace("0.0.0.0:4222", "127.0.0.1:-1")
    passwords = {name: expand(value) for name, value in environment("nats").items()}
    async with running(tmp_path, config, passwords) as port:
        for name in OURS:
            url = expand(environment(name)["KEEPSTEP_NATS_URL"]).replace("@nats:4222", f"@127.0.0.1:{port}")
            client = await Client.open(url, DEFAULT, name=name, within=timedelta(seconds=20))
            await client.close()


@pytest.mark.parametrize("path", ["deploy/nats.conf", "k8s/base/nats.conf", "k8s/components/single/nats.conf"])
def test_every_bus_takes_what_the_one_of_a_run_takes(path: str) -> None:
    """Of a fold or a plan beyond 1 MiB the bus of docker-compose.yml alone would have refused each write."""
    assert f"\nmax_payload: {MAX_PAYLOAD}\n" in (ROOT / path).read_text(encoding="utf-8")


def test_prometheus_scrapes_the_six_services_at_their_port() -> None:
    config = yaml.safe_load((ROOT / "deploy/prometheus.yml").read_text(encoding="utf-8"))
    (scrape,) = config["scrape_configs"]
    targets = [target for group in scrape["static_configs"] for target in group["targets"]]
    assert sorted(targets) == sorted(f"{name}:{environment(name)['KEEPSTEP_HTTP_PORT']}" for name in SIX)


def test_the_services_that_touch_the_cluster_see_its_folder_and_processes() -> None:
    for name in ("isolator", "scheduler-adapter", CONSOLE):
        folder = environment(name)["KEEPSTEP_CLUSTER"].removeprefix("local:")
        assert f"cluster:{folder}" in SERVICES[name]["volumes"]  # type: ignore[operator]  # YAML; volumes are a list
        assert SERVICES[name]["pid"] == "service:node-1"
    for name in ("node-1", "node-2"):
        node = Path(command(name)[-1])
        assert f"cluster:{node.parent.parent}" in SERVICES[name]["volumes"]  # type: ignore[operator]  # YAML; volumes are a list
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
