"""Sign-in, queries to pandas and polars, live queries and streams of a Gatehouse server."""

from .async_gate import AsyncGate
from .auth import Auth, ClientSecret, Device, DevicePrompt, Password, RefreshToken, Token
from .errors import AuthError, GatehouseConnectionError, GatehouseError, Position, QueryError
from .gate import Gate, Live, Query, Stream, Subscription, Table
from .live import AsyncLive, Change, Replaced
from .protocol import State, StateChange
from .query import AsyncQuery, Result
from .stream import AsyncStream, AsyncSubscription
from .table import AsyncTable, UploadProgress, Where
from .values import Column, Parameters, Row
from .version import VERSION as __version__

__all__ = [
    "AsyncGate",
    "AsyncLive",
    "AsyncQuery",
    "AsyncStream",
    "AsyncSubscription",
    "AsyncTable",
    "Auth",
    "AuthError",
    "Change",
    "ClientSecret",
    "Column",
    "Device",
    "DevicePrompt",
    "Gate",
    "GatehouseConnectionError",
    "GatehouseError",
    "Live",
    "Parameters",
    "Password",
    "Position",
    "Query",
    "QueryError",
    "RefreshToken",
    "Replaced",
    "Result",
    "Row",
    "State",
    "StateChange",
    "Stream",
    "Subscription",
    "Table",
    "Token",
    "UploadProgress",
    "Where",
    "__version__",
]
