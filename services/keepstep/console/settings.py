"""What the console is told from outside, beside what every service is told."""

from pydantic import Field

from keepstep.console.login.settings import LoginSettings

LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})


class ConsoleSettings(LoginSettings):
    """Settings of the console."""

    console_host: str = "127.0.0.1"
    """Where pages and API are served; beyond loopback only with a login, without one it is refused."""
    console_port: int = Field(default=8700, ge=0, le=65535)
    """0 takes a free one, which is told."""
    console_queries: int = Field(default=10, ge=1)
    """Queries of one user in a second; the next is answered 429. MindCluster's interface allows as many."""
    console_streams: int = Field(default=80, ge=1)
    """Live streams at once; MindCluster's interface allows as many."""
    console_patience_s: float = Field(default=0.0, ge=0.0, le=0.5)
    """How long what comes after a silence is left lying, where services that decide share the process."""
    console_senders: tuple[str, ...] = ("CCAE", "fd-online", "pingmesh", "Netmind", "dpcStorage", "dtfsStorage")
    """Systems outside whose faults are taken; what others report is dropped and logged."""
    console_fault_codes: tuple[str, ...] = ()
    """Further codes of public faults that are known, as JSON; see ``public_codes``."""

    @property
    def on_loopback(self) -> bool:
        """Whether only this machine can reach it."""
        return self.console_host in LOOPBACK
