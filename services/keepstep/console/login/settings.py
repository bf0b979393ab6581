"""What the login is told from outside. Secrets are files, so that no environment and no listing shows them."""

from ipaddress import IPv4Network, IPv6Network
from pathlib import Path

from pydantic import Field, IPvAnyNetwork

from keepstep.contracts.taxonomy import Role
from keepstep.runtime.settings import Settings

Network = IPv4Network | IPv6Network


class LoginSettings(Settings):
    """Settings of the login; without tokens and without an issuer there is none."""

    console_tokens: Path | None = None
    """File of static tokens, a line each: name, role, argon2id hash. ``keepstep console token`` makes lines."""
    console_url: str = ""
    """The address people use, as https://keepstep.example.com: where a provider sends them back, and whether cookies
    travel under TLS only. Beyond loopback it has to be said."""
    console_proxies: tuple[IPvAnyNetwork, ...] = ()
    """Addresses of proxies, as JSON, whose X-Forwarded-For and X-Forwarded-Proto are believed; nobody else's are."""
    console_session_hours: float = Field(default=8.0, gt=0, le=24 * 7)
    """A working day: what a provider changes about somebody counts from the next login on."""
    console_oidc_issuer: str = ""
    """The OpenID provider, exactly as it names itself; its discovery document is read from there."""
    console_oidc_client: str = "keepstep"
    """The client's id at the provider."""
    console_oidc_secret: Path | None = None
    """File of the client's secret; without one the client is a public one, which PKCE protects."""
    console_oidc_scopes: tuple[str, ...] = ("openid", "profile", "email")
    """Some providers want ``groups`` beside these before they tell them."""
    console_oidc_name: str = "preferred_username"
    """The claim that a person's name is in: it stands in the orders he gives."""
    console_oidc_groups: str = "groups"
    """The claim that the groups are in; a dot goes into an object, as in realm_access.roles."""
    console_oidc_roles: dict[str, Role] = Field(default_factory=dict)
    """Role of each group, as JSON; who is in several has the highest, who is in none does not come in."""

    @property
    def has_login(self) -> bool:
        """Whether anybody logs in at all."""
        return self.console_tokens is not None or bool(self.console_oidc_issuer)

    @property
    def under_tls(self) -> bool:
        """Whether people reach the console under TLS, as far as it is told."""
        return self.console_url.startswith("https://")
