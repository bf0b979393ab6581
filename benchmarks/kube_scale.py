"""A cluster of 10,000 nodes and 50,000 pods: what watching it takes, and when 200 nodes lost at once are decided on.

Run ``python -m benchmarks.kube_scale [--runs 3] [--nodes 10000] [--jobs 400] [--lost 200] [--how out-of-service]
[--storm 5] [--seconds 20]``. The API server is the test cluster in a process of its own; bus, store and the six
services are processes too, and all of them share this machine with whatever else it does, of which the load tells.
Every pod is of a job of keepstep's; jobs fill whole nodes, so each lost node is of another job and its five pods are
lost with it. Memory and CPU time are the kernel's, read from outside. The clock of the burst starts when the API
server has all of it and ends when the stream has the last answer of the isolator. Agents do not run: nobody beats.
The bus does not wait for the disk at each message, as on clusters, where replicas keep it.
Where the cores are too few for all, a service gets the share of them that its pod requests in ``k8s/base``.

``--storm`` is from how many isolations on a person is asked. Without it the policy's own 5 stands, as with an operator
who changed nothing: five nodes are cordoned, and of each of the others is decided at once that a person is asked. An
operator whose power domains hold hundreds of nodes would raise it above one domain (``--storm 1000``, up to where the
guard of the fleet holds): then every lost node is cordoned, which is the harder case.

``--how unreachable`` is a kubelet that fell silent, and no more: Ready turns Unknown. Ranks there may step on, and
their agents may be heard; it is neither proof of death nor a fault of the job (PROTOCOL section 4), the scheduler keeps
new pods off by itself, and agents that are silent too were missed long before. So nothing at all may be said of it.
Every run is checked for that, or for one incident and one decision of each job that was hit and none of others; exit
status 1 where one fails.
"""

import argparse
import asyncio
import os
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from tests.kube.scale.burst import SILENT, Burst, lose
from tests.kube.scale.layout import Layout
from tests.kube.scale.stack import Stack, stacked
from tests.kube.scale.usage import Usage, usage

from benchmarks import measuring
from keepstep.contracts.policy import IsolationPolicy
from keepstep.contracts.taxonomy import Service

ADAPTERS = (Service.SCHEDULER_ADAPTER, Service.ISOLATOR)
"""The services that watch the cluster."""
UPDATES = 200.0
"""Changes a second, by which 50,000 pods change every four minutes."""
WITHIN_S = 120.0
"""For the last decision of a burst; what is missing then is counted as missing."""
SILENT_S = 30.0
"""What is to be said of a silence would be said by then; after 300 s the cluster itself deletes the pods."""
CALM_S = 5.0
"""For what a start or a burst leaves to do: a lease alone may take three seconds."""
MEMORY, CPU, DECIDED = "< 1024 MiB", "< 25 %", "< 5 s"


@dataclass(frozen=True)
class Run:
    """One run: what each service took while nothing happened, what the burst made of it, and what it took after."""

    calm: dict[Service, float]
    """Share of a core in percent."""
    burst: Burst
    spent: dict[Service, float]
    """CPU seconds from the burst until all was quiet."""
    after: dict[Service, float]
    peak: dict[Service, float]
    """Highest memory in MiB."""
    load: float
    """Processes that wanted to run, over the minute that ended with the burst."""
    fallen: int
    """How often a service lost its lease or its connection, from its start to the end."""


async def measure(layout: Layout, *, lost: int, how: str, storm: int, seconds: float) -> Run:
    """Return the figures of one run on a cluster of its own."""
    with tempfile.TemporaryDirectory(prefix="keepstep-bench-") as folder:
        async with stacked(Path(folder), layout, updates=UPDATES, storm=storm) as stack:
            await asyncio.sleep(CALM_S)  # the start is no part of calm
            calm = await _shares(stack, seconds)
            before = _usages(stack)
            within_s = SILENT_S if how == SILENT else WITHIN_S
            burst = await lose(stack, lost, how, within_s=within_s, calm_s=CALM_S)
            load = os.getloadavg()[0]
            end = _usages(stack)
            after = await _shares(stack, seconds)
            stack.check()
            fallen = stack.fallen()
            peak = {service: taken.peak_mib for service, taken in _usages(stack).items()}
    spent = {service: end[service].cpu_s - before[service].cpu_s for service in before}
    return Run(calm, burst, spent, after, peak, load, fallen)


def _usages(stack: Stack) -> dict[Service, Usage]:
    return {service: usage(process.pid) for service, process in stack.services.items()}


async def _shares(stack: Stack, seconds: float) -> dict[Service, float]:
    """Return the share of a core that each service takes, in percent."""
    before, loop = _usages(stack), asyncio.get_running_loop()
    start = loop.time()
    await asyncio.sleep(seconds)  # what is measured is how much they do by themselves meanwhile
    after, passed = _usages(stack), loop.time() - start
    return {service: 100 * (after[service].cpu_s - before[service].cpu_s) / passed for service in before}


def report(runs: list[Run], layout: Layout, lost: int) -> None:
    """Print the table."""
    fleet = f"; {layout.nodes} nodes, {layout.pods} pods of {layout.jobs} jobs"
    measuring.begin(__doc__, also=fleet)
    for service in ADAPTERS:
        peaks, shares = [run.peak[service] for run in runs], [run.calm[service] for run in runs]
        print(measuring.row(f"{service}: memory", peaks, unit="MiB", goal=MEMORY, digits=0))
        print(measuring.row(f"{service}: of a core", shares, unit="%", goal=CPU, digits=1))
    bursts = [run.burst for run in runs]
    changes = [one.loss.per_s for one in bursts]
    print(measuring.row("changes at the API server", changes, unit="per s", goal=f"{UPDATES:.0f}", digits=0))
    print(measuring.row(f"{lost} nodes lost -> first decision", [one.first_s for one in bursts], unit="s"))
    print(measuring.row(f"{lost} nodes lost -> last decision", [one.last_s for one in bursts], unit="s", goal=DECIDED))
    print(measuring.row("jobs hit", [float(len(one.hit)) for one in bursts], unit="", digits=0))
    print(measuring.row("jobs without a decision", [float(one.missing) for one in bursts], unit="", goal="0", digits=0))
    print(measuring.row("nodes isolated", [float(one.isolated) for one in bursts], unit="", digits=0))
    opened = [float(len(one.hit) - one.unopened) for one in bursts]
    print(measuring.row("jobs hit that have an incident", opened, unit="", digits=0))
    surplus = [float(one.surplus) for one in bursts]
    print(measuring.row("incidents beside one for each of them", surplus, unit="", goal="0", digits=0))
    print(measuring.row("services that began anew", [float(run.fallen) for run in runs], unit="", goal="0", digits=0))
    print(measuring.row("load of the machine", [run.load for run in runs], unit="", digits=1))
    for service in Service:
        print(measuring.row(f"{service}: CPU of the burst", [run.spent[service] for run in runs], unit="s"))
    for service in ADAPTERS:
        shares = [run.after[service] for run in runs]
        print(measuring.row(f"{service}: of a core after the burst", shares, unit="%", digits=1))


async def main(arguments: argparse.Namespace) -> None:
    """Measure and print."""
    layout = Layout(arguments.nodes, arguments.jobs)
    runs = [
        await measure(layout, lost=arguments.lost, how=arguments.how, storm=arguments.storm, seconds=arguments.seconds)
        for _ in range(arguments.runs)
    ]
    report(runs, layout, arguments.lost)
    amiss = [what for run in runs for what in run.burst.amiss]
    if amiss:
        sys.exit(f"not as it should be: {'; '.join(amiss)}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--nodes", type=int, default=10_000)
    parser.add_argument("--jobs", type=int, default=400)
    parser.add_argument("--lost", type=int, default=200)
    parser.add_argument("--how", default="out-of-service", choices=("unreachable", "deleted", "out-of-service"))
    parser.add_argument("--storm", type=int, default=IsolationPolicy().storm_count)
    parser.add_argument("--seconds", type=float, default=20.0, help="how long each share of a core is measured")
    asyncio.run(main(parser.parse_args()))
