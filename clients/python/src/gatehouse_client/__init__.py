"""Sign-in, queries to pandas and polars, live queries, feeds and streams of a Gatehouse server."""

from .alerts import (
    Alert,
    AlertChannel,
    AlertDelivery,
    AlertEvent,
    AlertInstance,
    AlertSilence,
    AsyncAlerts,
)
from .async_gate import AsyncGate
from .auth import Auth, ClientSecret, Device, DevicePrompt, Password, RefreshToken, Token
from .errors import (
    AuthError,
    GatehouseConnectionError,
    GatehouseError,
    LicenceNeeded,
    Position,
    QueryError,
    StepUpNeeded,
)
from .feed import AsyncFeed, AsyncFeedSubscription, FeedMessage, FeedTopic, KeptMessage, PublishProgress
from .gate import Gate, Live, Query, Stream, Subscription, Table
from .licences import Licence, LicenceLabel
from .live import AsyncLive, Change, Replaced
from .protocol import State, StateChange
from .query import AsyncQuery, Result
from .stream import AsyncStream, AsyncSubscription
from .sync_alerts import Alerts
from .sync_feed import Feed, FeedSubscription
from .table import AsyncTable, UploadProgress, Where
from .values import Column, Parameters, Row
from .version import VERSION as __version__

__all__ = [
    "Alert",
    "AlertChannel",
    "AlertDelivery",
    "AlertEvent",
    "AlertInstance",
    "AlertSilence",
    "Alerts",
    "AsyncAlerts",
    "AsyncFeed",
    "AsyncFeedSubscription",
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
    "Feed",
    "FeedMessage",
    "FeedSubscription",
    "FeedTopic",
    "Gate",
    "GatehouseConnectionError",
    "GatehouseError",
    "KeptMessage",
    "Licence",
    "LicenceLabel",
    "LicenceNeeded",
    "Live",
    "Parameters",
    "Password",
    "Position",
    "PublishProgress",
    "Query",
    "QueryError",
    "RefreshToken",
    "Replaced",
    "Result",
    "Row",
    "State",
    "StateChange",
    "StepUpNeeded",
    "Stream",
    "Subscription",
    "Table",
    "Token",
    "UploadProgress",
    "Where",
    "__version__",
]
