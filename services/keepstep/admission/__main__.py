"""``python -m keepstep.admission``."""

import sys

from keepstep.adapters.kube_named import client_of
from keepstep.admission.app import Admission, serve
from keepstep.admission.settings import Settings
from keepstep.runtime.entry import main
from keepstep.runtime.settings import Settings as Shared


async def _run() -> None:
    settings = Settings()
    client = client_of(Shared().cluster, audit=lambda _: None)
    try:
        await serve(Admission(settings, client), settings)
    finally:
        if client is not None:
            await client.close()


if __name__ == "__main__":
    sys.exit(main("admission", _run))
