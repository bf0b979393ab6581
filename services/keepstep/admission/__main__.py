"""``python -m keepstep.admission``."""

import asyncio
import sys

from pydantic import ValidationError

from keepstep.adapters.kube_named import client_of
from keepstep.admission.app import Admission, serve
from keepstep.admission.settings import Settings
from keepstep.ports.errors import Permanent
from keepstep.runtime.log import configure
from keepstep.runtime.settings import Settings as Shared


async def _run() -> None:
    settings = Settings()
    client = client_of(Shared().cluster, audit=lambda _: None)
    try:
        await serve(Admission(settings, client), settings)
    finally:
        if client is not None:
            await client.close()


def main() -> int:
    """Serve until a signal; return 2 with one line where a setting is wrong."""
    configure()
    try:
        asyncio.run(_run())
    except ValidationError as error:
        fields = ", ".join(f"KEEPSTEP_ADMISSION_{'_'.join(map(str, one['loc'])).upper()}" for one in error.errors())
        sys.stderr.write(f"keepstep.admission: missing or wrong: {fields}\n")
        return 2
    except Permanent as error:
        sys.stderr.write(f"keepstep.admission: {error}\n")
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
