"""What keepstep needs of a Kubernetes cluster, looked at one by one, each with the remedy."""

import os
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from datetime import datetime, timedelta

from keepstep.adapters.kube_about import about
from keepstep.adapters.kube_client import KubeClient
from keepstep.adapters.kube_job_kind import JobKind
from keepstep.adapters.kube_kinds import KINDS
from keepstep.adapters.kube_named import client_of
from keepstep.adapters.kube_objects import group
from keepstep.adapters.kube_resources import COMMANDS
from keepstep.adapters.kube_rights import ASKERS, OPTIONAL, Need
from keepstep.adapters.kube_volcano import VOLCANO
from keepstep.cli.doctor import Finding, State, letters_finding
from keepstep.cli.errors import Failed
from keepstep.cli.on_cluster import BUS as BUS_URL
from keepstep.cli.on_cluster import HOW_TO_REACH
from keepstep.contracts.taxonomy import Service
from keepstep.ports.errors import KeepstepError
from keepstep.runtime import names
from keepstep.runtime.client import Client
from keepstep.runtime.connection import answers_strangers
from keepstep.runtime.service import open_store
from keepstep.runtime.settings import Settings

SKEW = timedelta(seconds=3)
"""The server tells whole seconds. Liveness needs no clock, but people compare the times of events and logs."""
BUS = timedelta(seconds=5)
LIMITED = (Service.SCHEDULER_ADAPTER, Service.NOTIFIER)
"""Those that KEEPSTEP_NAMESPACES limits: the others ask for nothing of a namespace, but evictions of a drain."""
OLDEST = (1, 25)
"""The first with disruption budgets and indexed Jobs as keepstep asks for them."""


async def examine_cluster(
    setting: str, services: Sequence[str], *, clock: Callable[[], datetime]
) -> tuple[Finding, ...]:
    """Return what the cluster lacks for these services, asked as whoever the setting's credentials are.

    Raises Failed for a setting that names no Kubernetes, Permanent for one that cannot be read.
    """
    client = client_of(setting, audit=lambda _: None)
    if client is None:
        raise Failed(f"--cluster {setting}: say kubernetes, or kubernetes:<kubeconfig>")
    try:
        return tuple([finding async for finding in _findings(client, services, clock)])
    finally:
        await client.close()


async def _findings(
    client: KubeClient, services: Sequence[str], clock: Callable[[], datetime]
) -> AsyncIterator[Finding]:
    try:
        there = await about(client)
        yield _version(there.version)
        before = clock()
        there_now = await client.clock()
        yield _skew(apart(there_now, before, clock()))
        for kind in JobKind:
            yield _kind(kind, there.kinds)
        served = {group(KINDS[kind].resource.api) for kind in there.kinds}
        for service in services:
            yield await _rights(client, service, served)
    except KeepstepError as error:
        yield Finding("cluster", State.MISSING, f"{error}; is the address right, and the token still good?")
    for finding in await _bus():
        yield finding


def _version(found: tuple[int, int]) -> Finding:
    verdict = State.OK if found >= OLDEST else State.MISSING
    oldest = ".".join(map(str, OLDEST))
    return Finding("cluster", verdict, f"Kubernetes {found[0]}.{found[1]}; {oldest} or newer is needed")


def apart(told: datetime, before: datetime, after: datetime) -> timedelta:
    """Return the least by which a clock, told to the second somewhen between two moments, is ahead of theirs.

    What an answer took is no skew: the second may have begun up to one before the question, and not after the answer.
    """
    return max(told - after, timedelta(0)) + min(told + timedelta(seconds=1) - before, timedelta(0))


def _skew(skew: timedelta) -> Finding:
    said = f"the server's clock is {skew.total_seconds():+.0f} s from this one"
    if abs(skew) <= SKEW:
        return Finding("clock", State.OK, said)
    return Finding("clock", State.NOTE, f"{said}: set both by NTP, or times of logs and events cannot be compared")


def _kind(kind: JobKind, present: Iterable[JobKind]) -> Finding:
    if kind in present:
        return Finding(f"kind {kind}", State.OK, "served")
    return Finding(f"kind {kind}", State.NOTE, f"not served: install its operator where {kind} jobs are to be kept")


async def _rights(client: KubeClient, service: str, served: Iterable[str]) -> Finding:
    lacking = [await _lacking(client, need, service) for need in ASKERS[service] if _asked(need, frozenset(served))]
    told = [f"{', '.join(verbs)} {need.resource} ({need.why})" for need, verbs in lacking if verbs]
    if told:
        remedy = f"kubectl apply -k k8s/base, or the rules of its {service}.yaml"
        return Finding(f"rights {service}", State.MISSING, f"may not {'; '.join(told)}: {remedy}")
    return Finding(f"rights {service}", State.OK, "may do all that it does, and needs no more")


def _asked(need: Need, served: frozenset[str]) -> bool:
    """Of an operator that is not there nothing is needed; Volcano's commands come with its jobs."""
    operator = group(VOLCANO.resource.api) if need.group == group(COMMANDS.api) else need.group
    return need.group not in OPTIONAL or operator in served


async def _lacking(client: KubeClient, need: Need, service: str) -> tuple[Need, list[str]]:
    """Ask in each namespace that the service is limited to, where it is."""
    limited = service in LIMITED and need.resource != "nodes"
    where = Settings().namespaces if limited else ()
    asked = [(verb, one) for verb in need.verbs for one in where or ("",)]
    lacking = [verb for verb, one in asked if not await client.may(verb, need.group, need.resource, namespace=one)]
    return need, list(dict.fromkeys(lacking))


async def _bus() -> tuple[Finding, ...]:
    settings = Settings()
    url = settings.nats_url.get_secret_value()
    try:
        client = await Client.open(url, settings.pool, name="doctor", within=BUS)
    except KeepstepError as error:
        return (Finding("bus", State.MISSING, str(error) if os.environ.get(BUS_URL) else HOW_TO_REACH),)
    try:
        last = await client.last_sequence()
        bus = Finding("bus", State.OK, f"pool {settings.pool} has {last} messages")
        letters = await _letters(client)
        await open_store(settings, client, names.folds_room(settings.pool, Service.DETECTOR)).load("mark")
    except KeepstepError as error:
        return (Finding("bus and store", State.MISSING, f"{error}; see KEEPSTEP_NATS_URL, _POOL and _STORE"),)
    finally:
        await client.close()
    store = Finding("store", State.OK, f"{settings.store.get_secret_value().partition(':')[0]} answers")
    return bus, store, await _gate(url), *letters


async def _letters(client: Client) -> tuple[Finding, ...]:
    """Return that there are dead letters, where there are and this user may know."""
    try:
        found = letters_finding(await client.dead_letters.count())
    except KeepstepError:
        return ()
    return () if found is None else (found,)


async def _gate(url: str) -> Finding:
    try:
        answers = await answers_strangers(url)
    except KeepstepError as error:
        return Finding("gate", State.NOTE, str(error))
    if answers:
        return Finding("gate", State.OK, "whom the bus does not know is turned away at once")
    remedy = "kubectl -n keepstep get pods -l app.kubernetes.io/name=gate"
    return Finding("gate", State.MISSING, f"the bus asks its gate and has no answer, so no agent gets in: {remedy}")
