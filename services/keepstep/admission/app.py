"""Serves the webhook over TLS, keeps certificate and components fresh; every answer is core's."""

import asyncio
import ssl
from dataclasses import replace
from pathlib import Path

import structlog
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from keepstep.adapters.kube_about import about
from keepstep.adapters.kube_client import KubeClient
from keepstep.adapters.kube_json import table, text
from keepstep.admission.components import found, wanted
from keepstep.admission.settings import Settings
from keepstep.admission.webhook import PATH
from keepstep.core.json_text import parsed
from keepstep.injection.ours import Ours, is_native, speaks_out
from keepstep.injection.review import review
from keepstep.ports.errors import KeepstepError, Permanent
from keepstep.runtime.hasty import Hasty

_log = structlog.get_logger("admission")


class Admission:
    """The webhook of one pool; ``client`` is None where there is no cluster to look at.

    Raises Permanent for an address of the bus with credentials in it.
    """

    def __init__(self, settings: Settings, client: KubeClient | None = None) -> None:
        self._settings, self._client = settings, client
        self._pool = wanted(settings)
        self._ours = Ours(
            image=settings.image,
            nats_url=settings.nats_url,
            nats_secret=settings.nats_secret,
            pool=settings.pool,
        )
        if (wrong := speaks_out(self._ours)) is not None:
            where = "KEEPSTEP_ADMISSION_NATS"
            raise Permanent(f"{where}_URL: {wrong.because}; {wrong.remedy} in {where}_SECRET")
        self.web = Starlette(
            routes=[
                Route(PATH, self._inject, methods=["POST"]),
                Route("/healthz", _healthy),
                Route("/readyz", _healthy),
            ]
        )

    async def look(self) -> None:
        """Look at the cluster's version and components once; while it cannot be reached, what was seen last counts."""
        if self._client is None:
            return
        try:
            pool = await found(self._client, self._pool)
            native = is_native((await about(self._client)).version)
        except KeepstepError as error:
            _log.warning("the cluster's components are not seen", because=str(error))
            return
        if (pool, native) != (self._pool, self._ours.native):
            _log.info("pool seen", components=[f"{one.name} {one.unseen or one.found}" for one in pool.components])
        self._pool, self._ours = pool, replace(self._ours, native=native)

    async def _inject(self, request: Request) -> Response:
        try:
            asked = parsed(await request.body())
            answer = review(asked if isinstance(asked, dict) else {}, ours=self._ours, pool=self._pool)
        except ValueError as error:
            return PlainTextResponse(f"{error}\n", status_code=400)
        response = table(answer, "response")
        job = table(asked, "request")
        _log.info(
            "job decided on",
            job=f"{text(job, 'kind', 'kind')} {text(job, 'namespace')}/{text(job, 'name')}",
            allowed=response["allowed"],
            because=text(response, "status", "message"),
        )
        return JSONResponse(answer)


async def _healthy(_: Request) -> Response:
    return PlainTextResponse("ok\n")


async def serve(admission: Admission, settings: Settings) -> None:
    """Serve until cancelled or told to end by a signal."""
    config = uvicorn.Config(
        admission.web,
        http=Hasty,
        host=settings.host,
        port=settings.port,
        ssl_certfile=settings.certificate,
        ssl_keyfile=str(settings.key),
        log_level="warning",
        lifespan="off",
        access_log=False,
    )
    config.load()
    await admission.look()
    async with asyncio.TaskGroup() as group:
        looking = group.create_task(_keep_fresh(admission, settings, config.ssl))
        await uvicorn.Server(config).serve()
        looking.cancel()


async def _keep_fresh(admission: Admission, settings: Settings, context: ssl.SSLContext | None) -> None:
    """Look at components and certificate again and again; a certificate that is half written is taken next time."""
    known = _stamp(settings.certificate)
    while True:
        await asyncio.sleep(settings.look_seconds)
        await admission.look()
        stamp = _stamp(settings.certificate)
        if stamp == known or context is None:
            continue
        try:
            context.load_cert_chain(settings.certificate, settings.key)
        except (OSError, ssl.SSLError) as error:
            _log.warning("the certificate cannot be read", because=str(error))
            continue
        known = stamp
        _log.info("certificate renewed")


def _stamp(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0
