"""A service on a workstation loads no client of Kubernetes: an extra, 0.2 s and 30 MiB that nobody there needs."""

import subprocess
import sys

import pytest

SERVICES = ("detector", "diagnoser", "isolator", "checkpoint_manager", "scheduler_adapter", "notifier")


@pytest.mark.parametrize("service", SERVICES)
def test_a_service_loads_no_client_of_kubernetes_before_its_settings_name_one(service: str) -> None:
    asked = f"import sys, keepstep.{service}.app; print(sorted({{'lightkube', 'httpx2'}} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("module", ["keepstep.notifier.app", "keepstep.cli.commands.notify"])
def test_nothing_of_channels_is_loaded_before_a_channel_is_used(module: str) -> None:
    asked = f"import sys, {module}; print(sorted({{'jinja2', 'apprise', 'aiosmtplib'}} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.strip() == "[]"
