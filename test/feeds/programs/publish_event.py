"""Publishes an event with the CloudEvents SDK for Python, and prints the reply. GATEHOUSE_FEED is the address of a feed."""

import os
from urllib.request import Request, urlopen

from cloudevents.core.bindings.http import to_structured_event
from cloudevents.core.v1.event import CloudEvent

event = CloudEvent(
    {
        "id": os.environ["EVENT_ID"],
        "source": "/test/python",
        "type": "order.filled",
        "specversion": "1.0",
        "subject": "ce/python",
        "datacontenttype": "application/json",
    },
    {"filled": "10.50", "by": "cloudevents for Python"},
)
message = to_structured_event(event)
headers = {**message.headers, "authorization": f"Bearer {os.environ['GATEHOUSE_TOKEN']}"}
with urlopen(Request(os.environ["GATEHOUSE_FEED"], data=message.body, headers=headers)) as reply:
    print(reply.read().decode())
