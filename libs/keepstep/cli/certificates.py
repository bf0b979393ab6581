"""Makes certificates for names within a cluster, each signed by an authority of its own. Needs openssl."""

import subprocess
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from keepstep.cli.errors import Failed

DAYS = 825
"""The longest that common clients accept of a server's certificate."""
AUTHORITY, CERTIFICATE, KEY = "ca.crt", "tls.crt", "tls.key"
"""As keys of a Secret, the last two as Kubernetes names them."""


def signed(hosts: Sequence[str], subject: str) -> dict[str, bytes]:
    """Return PEM of an authority, and of key and certificate that it signed for these names; its own key is not kept.

    Raises Failed without openssl.
    """
    with TemporaryDirectory() as name:
        room = Path(name)
        alternatives = ",".join(f"DNS:{host}" for host in hosts)
        (room / "server.ext").write_text(
            f"subjectAltName={alternatives}\nextendedKeyUsage=serverAuth,clientAuth\n", encoding="utf-8"
        )
        curve = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")
        authority = ("-keyout", "ca.key", "-out", AUTHORITY, "-subj", f"/CN={subject} authority", "-days", str(DAYS))
        _openssl(room, "req", "-x509", *curve, *authority)
        _openssl(room, "req", *curve, "-keyout", KEY, "-out", "tls.csr", "-subj", f"/CN={subject}")
        by = ("-CA", AUTHORITY, "-CAkey", "ca.key", "-CAcreateserial", "-days", str(DAYS), "-extfile", "server.ext")
        _openssl(room, "x509", "-req", "-in", "tls.csr", "-out", CERTIFICATE, *by)
        return {name: (room / name).read_bytes() for name in (AUTHORITY, CERTIFICATE, KEY)}


def _openssl(room: Path, *words: str) -> None:
    try:
        subprocess.run(["openssl", *words], cwd=room, check=True, capture_output=True, text=True)
    except FileNotFoundError as error:
        raise Failed("openssl is not installed, and certificates are made with it") from error
    except subprocess.CalledProcessError as error:
        raise Failed(f"openssl {words[0]} failed: {error.stderr.strip()}") from error
