"""The HTTP API and the page: a `Predictor` behind FastAPI."""

from tripleshot.errors import InputError

try:
    from tripleshot.server.app import create_app, open_socket, serve
except ModuleNotFoundError as missing:
    if (missing.name or "").startswith("tripleshot"):
        raise
    raise InputError(f"serving needs {missing.name}: pip install 'tripleshot[serve]'") from None
from tripleshot.server.limits import Limits

__all__ = ["Limits", "create_app", "open_socket", "serve"]
