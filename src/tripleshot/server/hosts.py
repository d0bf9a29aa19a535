"""By which names a server may be called.

A page elsewhere can give its own name the address of this machine (DNS rebinding), and would then read what it likes
from a reader's browser. The browser still says by which name it was sent here, and that name is not ours.
"""

import ipaddress
import re
from collections.abc import Iterable
from dataclasses import dataclass

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from tripleshot.server.errors import problem

EVERY_NAME = "*"
HOST = re.compile(r"(?:\[(?P<address>[^\]]+)\]|(?P<name>[^:\[\]]+))(?::\d*)?")


@dataclass(frozen=True)
class AllowedHosts:
    """The names that a server answers to; this machine's own are always among them.

    Attributes:
        names: in lower case; `*` stands for every name.
        any_address: whether it may be called by every number: those belong to nobody's name.
    """

    names: frozenset[str] = frozenset()
    any_address: bool = False

    @classmethod
    def of(cls, host: str, more: Iterable[str] = ()) -> "AllowedHosts":
        """Allow what a server listens on, and more names."""
        address = as_address(host)
        names = frozenset(name.lower() for name in (host, *more))
        return cls(names, address is not None and address.is_unspecified)

    def allows(self, header: str) -> bool:
        """Say whether a request with this Host header is meant for the server; browsers always send one."""
        found = HOST.fullmatch(header)
        if found is None:
            return not header
        name = (found["address"] or found["name"]).lower().rstrip(".")
        address = as_address(name)
        if address is not None and (self.any_address or address.is_loopback):
            return True
        return name == "localhost" or name in self.names or EVERY_NAME in self.names


def as_address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """Return a host as an address, None if it is a name."""
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None


class HostGuard:
    """Refuses requests that were sent to another name."""

    def __init__(self, app: ASGIApp, hosts: AllowedHosts) -> None:
        self.app, self.hosts = app, hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on."""
        host = Headers(scope=scope).get("host", "") if scope["type"] == "http" else ""
        if self.hosts.allows(host):
            return await self.app(scope, receive, send)
        detail = f"this server does not answer to {host!r}; it can be told to with --allow-host"
        return await problem(421, detail)(scope, receive, send)
