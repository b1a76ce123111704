"""Recomputes the usage report of a month from an exported audit log, with nothing of the server: python3 usage_report.py MONTH FILE."""
import csv
import hashlib
import json
import sys
from datetime import datetime, timezone


def millis(text):
    moment = datetime.strptime(text, "%Y-%m-%dT%H:%M:%S.%fZ").replace(tzinfo=timezone.utc)
    return round(moment.timestamp() * 1000)


def instant(value):
    moment = datetime.fromtimestamp(value // 1000, timezone.utc)
    return moment.strftime("%Y-%m-%dT%H:%M:%S.") + f"{value % 1000:03d}Z"


def read(file):
    """The rows of the log, whose hashes are checked from the first on."""
    rows, previous = [], ""
    for line in file:
        row = json.loads(line)
        details = json.dumps(row["details"], separators=(",", ":"), ensure_ascii=False)
        canonical = [row["seq"], millis(row["at"]), row["event"], row["outcome"]]
        canonical += [row.get(name) for name in ("actor", "client", "target", "address", "request_id")]
        canonical += [row["node"], details]
        text = json.dumps(canonical, separators=(",", ":"), ensure_ascii=False)
        digest = hashlib.sha256((previous + "\n" + text).encode()).hexdigest()
        if digest != row["hash"]:
            sys.exit(f"row {row['seq']} was altered")
        rows.append(row)
        previous = digest
    return rows


def bounds(month):
    year, number = map(int, month.split("-"))
    start = datetime(year, number, 1, tzinfo=timezone.utc)
    end = datetime(year + number // 12, number % 12 + 1, 1, tzinfo=timezone.utc)
    return round(start.timestamp() * 1000), round(end.timestamp() * 1000)


def uses(rows, start, end):
    """Each session as (product, subject, session row, opened, ended)."""
    head = millis(rows[-1]["at"])
    closed = {}
    for row in rows:
        if row["event"] == "licence.closed":
            closed[row["details"]["session"]] = millis(row["details"]["last"])
    for row in rows:
        if row["event"] != "licence.opened":
            continue
        opened = millis(row["at"])
        ended = max(opened, closed.get(row["details"]["session"], head))
        if opened < end and ended >= start:
            yield row["target"], row["actor"], row, opened, ended


def peak(group):
    """At each instant at which one begins: how many places are in use."""
    realtime = [use for use in group if use[2]["details"]["access"] == "realtime"]
    most = 0
    for use in realtime:
        at = use[3]
        most = max(most, len({other[2]["details"]["place"] for other in realtime if other[3] <= at <= other[4]}))
    return most


def report(month, rows):
    start, end = bounds(month)
    groups = {}
    for use in uses(rows, start, end):
        groups.setdefault((use[0], use[1]), []).append(use)
    for (product, subject), group in sorted(groups.items()):
        details = [use[2]["details"] for use in group]
        latest = details[-1]
        kind = next(each for each in ("billable", "trial", "exempt") if any(one["kind"] == each for one in details))
        realtime = any(one["access"] == "realtime" for one in details)
        most = peak(group)
        units = 0 if not realtime or kind != "billable" else most if latest["count"] == "place" else 1
        yield [
            month,
            product,
            "user" if subject.startswith("usr_") else "client",
            subject,
            latest.get("firm", ""),
            "non_professional" if all(one["status"] == "non_professional" for one in details) else "professional",
            kind,
            "realtime" if realtime else "delayed",
            len(group),
            most,
            instant(max(start, min(use[3] for use in group))),
            instant(min(end - 1, max(use[4] for use in group))),
            " ".join(sorted({use[2].get("client", "") for use in group})),
            units,
        ]


COLUMNS = "month,product,type,subject,firm,status,kind,access,sessions,peak,first,last,clients,units".split(",")

with open(sys.argv[2], encoding="utf-8") as log:
    found = report(sys.argv[1], read(log))
    sys.stdout.reconfigure(newline="")
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerows(found)
