"""Looks up what the decision needs, in the API server and on the bus; every answer is core's."""

import asyncio
import hashlib
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from typing import Generic, TypeVar

from keepstep.adapters.kube_tokens import JOIN, REPORT, Bearer, KubeTokens, NoBearer
from keepstep.contracts.ids import Pool
from keepstep.gate.core import Claim, Shown, last_moment, objection
from keepstep.gate.settings import Settings
from keepstep.ports.errors import KeepstepError, Transient
from keepstep.runtime.bindings import NatsBindings
from keepstep.runtime.callout import Grant, Knock, Turned
from keepstep.runtime.rights import Rights
from keepstep.runtime.rights_of_pods import RIGHTS_LAST, Caller, agent_rights, caller_of, node_agent_rights

A = TypeVar("A")
V = TypeVar("V")

MOST = 50_000
"""Answers that are remembered; beyond, the oldest are asked for anew."""


class Gate:
    """Judges who knocks. ``bindings`` gives each pool's; ``monotonic`` is for what is remembered."""

    def __init__(
        self,
        settings: Settings,
        tokens: KubeTokens,
        bindings: Callable[[Pool], NatsBindings],
        *,
        now: Callable[[], datetime],
        monotonic: Callable[[], float],
        lasts: timedelta = RIGHTS_LAST,
    ) -> None:
        self._tokens, self._now, self._lasts = tokens, now, lasts
        self._bindings = {pool: bindings(pool) for pool in settings.pools}
        self._bearers: Remembered[Bearer | NoBearer] = Remembered(settings.remembered_seconds, monotonic)
        self._granted: Remembered[bool] = Remembered(settings.remembered_seconds, monotonic)

    async def judge(self, knock: Knock) -> Grant | Turned:
        """Return the rights of the pod's task, or of its node, or why there are none."""
        caller = caller_of(knock.user)
        if caller is None or caller.pool not in self._bindings:
            return Turned("this is no user of the bus, and no pod of a pool that is kept here")
        try:
            return await self._judged(caller, knock.proof)
        except KeepstepError as error:
            return Turned(f"it cannot be told now: {error}")

    async def _judged(self, caller: Caller, proof: str) -> Grant | Turned:
        bearer = await self._bearers.get(_hidden(proof), lambda: self._tokens.bearer(proof))
        if isinstance(bearer, NoBearer):
            return Turned(bearer.because)
        verb = JOIN if caller.node is None else REPORT
        asked = f"{caller.pool} {verb} {bearer.account}"
        granted = await self._granted.get(asked, lambda: self._tokens.may(bearer, verb, caller.pool))
        shown = Shown(bearer.pod, bearer.namespace, bearer.node, bearer.until)
        claim = Claim(caller.pool, caller.pod, caller.node)
        now = self._now()
        if why := objection(claim, shown, granted=granted, now=now):
            return Turned(why)
        return Grant(await self._rights(caller), last_moment(shown, now=now, lasts=self._lasts))

    async def _rights(self, caller: Caller) -> Rights:
        pool, pod = caller.pool, caller.pod
        if caller.node is not None:
            return node_agent_rights(pool, pod=pod, node=caller.node)
        launch = await self._bindings[pool].bound(pod)
        if launch is None:
            return agent_rights(pool, pod=pod)
        return agent_rights(pool, pod=pod, job=launch.job.uid, task=launch.task.uid)


class Remembered(Generic[A]):
    """Answers that count for a while; whoever asks while the same is being asked waits for that answer.

    While nobody can be asked, the last answer counts on: who is in asks anew every few minutes, and stays in.
    """

    def __init__(self, seconds: float, monotonic: Callable[[], float]) -> None:
        self._seconds, self._monotonic = seconds, monotonic
        self._known: dict[str, tuple[float, asyncio.Future[A]]] = {}
        self._last: dict[str, A] = {}

    async def get(self, key: str, ask: Callable[[], Awaitable[A]]) -> A:
        """Return the answer. Raises what asking raises, which is not remembered."""
        since, known = self._known.get(key, (0.0, None))
        if known is None or self._monotonic() - since > self._seconds:
            known = asyncio.ensure_future(ask())
            known.add_done_callback(lambda asked: self._note(key, asked))
            _keep(self._known, key, (self._monotonic(), known))
        try:
            return await asyncio.shield(known)
        except Transient:
            if key not in self._last:
                raise
            return self._last[key]

    def _note(self, key: str, asked: asyncio.Future[A]) -> None:
        """Keep the answer; forget an asking without one, whatever went wrong and whether or not anybody still waits."""
        if not asked.cancelled() and asked.exception() is None:
            _keep(self._last, key, asked.result())
        elif self._known.get(key, (0.0, None))[1] is asked:
            self._known.pop(key)


def _keep(answers: dict[str, V], key: str, answer: V) -> None:
    """Keep an answer as the newest, and no more of them than we may."""
    answers.pop(key, None)
    answers[key] = answer
    while len(answers) > MOST:
        answers.pop(next(iter(answers)))


def _hidden(proof: str) -> str:
    """Return what a token is remembered by: not the token."""
    return hashlib.sha256(proof.encode()).hexdigest()
