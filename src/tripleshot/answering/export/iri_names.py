"""Names as IRIs and back: RDF knows things by IRIs, other graphs by whatever stands in a file."""

import re
from dataclasses import dataclass
from urllib.parse import quote, unquote

import pyoxigraph

from tripleshot.errors import InputError

BASE = "urn:tripleshot:name:"
SCHEMES = ("http:", "https:", "urn:", "tag:", "info:", "file:")
"""How a name begins that is an IRI already; others, such as `city:paris`, may be anything."""

DOTS = re.compile(r"(?<![^/])\.{1,2}(?![^/])")  # a part of a path that whoever resolves it would leave out


@dataclass(frozen=True)
class IriNames:
    """A mapping between names and IRIs, in both directions.

    A name that is an IRI stays as it is. Any other name, also that of a blank node, is percent-encoded in UTF-8 and
    put behind a base: `urn:tripleshot:name:Caspian%20Sea`. Letters of ASCII, digits and `-._~/` stay as they are. So a
    graph that was written once and read again keeps its IRIs.

    Attributes:
        base: what IRIs of other names begin with.
    """

    base: str = BASE

    def __post_init__(self) -> None:
        if not self.base.startswith(SCHEMES) or not _is_iri(self.base):
            raise InputError(
                f"base: expected the beginning of an IRI, such as https://example.org/; found {self.base!r}"
            )

    def iri(self, name: str) -> pyoxigraph.NamedNode:
        """Return the IRI of a name."""
        if name.startswith(SCHEMES) and _is_iri(name):
            return pyoxigraph.NamedNode(name)
        encoded = DOTS.sub(lambda dots: "%2E" * len(dots[0]), quote(name, safe="/"))
        return pyoxigraph.NamedNode(self.base + encoded)

    def name(self, iri: str) -> str:
        """Return the name that an IRI was made of."""
        return unquote(iri[len(self.base) :], errors="strict") if iri.startswith(self.base) else iri


def _is_iri(text: str) -> bool:
    try:
        pyoxigraph.NamedNode(text)
    except ValueError:
        return False
    return True
