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
from .gate import Gate, Query, Stream, Subscription, Table
from .licence_labels import LicenceLabel
from .licences import AgreementState, AsyncLicences, Licence, LicenceAgreement, LicenceTrial
from .live import AsyncLive, Change, Replaced
from .protocol import State, StateChange
from .query import AsyncQuery, Result
from .stream import AsyncStream, AsyncSubscription
from .sync_alerts import Alerts
from .sync_feed import Feed, FeedSubscription
from .sync_licences import Licences
from .sync_live import Live
from .table import AsyncTable, UploadProgress, Where
from .values import Column, Parameters, Row
from .version import VERSION as __version__

__all__ = [
    "AgreementState",
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
    "AsyncLicences",
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
    "LicenceAgreement",
    "LicenceLabel",
    "LicenceNeeded",
    "LicenceTrial",
    "Licences",
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
