"""A value of every type that goes to the server as a parameter and comes back, and the checks that the programs share."""
import datetime
import decimal
import math
import os
import uuid

UTC = datetime.timezone.utc
ON_POSTGRES = os.environ.get("TOOLS_POSTGRES") == "1"

VALUES = [
    ("text", ""),
    ("text", "a'b\\c \u20ac \U0001f600"),
    ("int8", 0),
    ("int8", 9223372036854775807),
    ("int8", -9223372036854775808),
    ("numeric(18,4)", decimal.Decimal("12345678901234.5678")),
    ("numeric(38,10)", decimal.Decimal("-1234567890123456789012345678.0123456789")),
    ("float8", 0.1),
    ("float8", 1.7976931348623157e308),
    ("float8", 5e-324),
    ("bool", True),
    ("bool", False),
    ("timestamptz", datetime.datetime(2026, 1, 5, 8, 0, 0, 123456, tzinfo=UTC)),
    ("timestamptz", datetime.datetime(1901, 12, 13, 20, 45, 52, tzinfo=UTC)),
    ("date", datetime.date(2024, 2, 29)),
    ("time", datetime.time(23, 59, 59, 999999)),
    ("uuid", uuid.UUID("6f0f9a3c-2f5e-4c1b-9d53-0a7c3f9d2b11")),
    ("bytea", b"\x00\x01\xff\\'"),
]

# Not `timestamp`, which is a time in UTC for Gatehouse.
LOCAL_VALUES = [("timestamp without time zone", datetime.datetime(2026, 3, 29, 2, 30, 0, 1))]

TABLES = {"instruments", "quotes", "trades"}


def same(got, wanted, what):
    if isinstance(wanted, bytes):
        got = bytes(got)
    if isinstance(wanted, float) and math.isnan(wanted):
        assert math.isnan(got), what
    else:
        assert got == wanted and isinstance(got, type(wanted)), f"{what}: {got!r} instead of {wanted!r}"


def done(name):
    print(f"{name}: ok")
