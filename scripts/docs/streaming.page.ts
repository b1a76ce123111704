/** docs/streaming.md: the guide for client developers, with the tables of errors, close codes and topics of the program. */
import { CLOSE_CODES, FEED_CLASSES, STREAM_ERRORS, VERSION } from 'gatehouse-protocol'
import { DEFAULT_RATE, MAX_RATE, MIN_RATE } from '../../packages/server/src/query/live/contract.ts'
import { LIVE_SUMMARY } from '../../packages/server/src/server/live-controller.ts'
import { authController } from '../../packages/server/src/streaming/controllers/auth.ts'
import { COMMON_TOPICS } from '../../packages/server/src/streaming/controllers/common.ts'
import { createPlatformController, Feeds } from '../../packages/server/src/streaming/controllers/platform.ts'
import { FEED_STATUSES, type Topic } from '../../packages/server/src/streaming/topics/controller.ts'
import { type GeneratedPage, NOTICE } from './page.ts'

const platform = createPlatformController({ Name: '', Class: '', Version: '' }, new Feeds([]))

export const page: GeneratedPage = {
  path: 'docs/streaming.md',
  render: () => `${NOTICE}

# Streaming

One WebSocket connection carries requests, replies and subscriptions as JSON messages. It acts for one user, whose access
token it presents. When the user signs out, a token is revoked or a right is removed, open connections are affected at once,
on every node.

Try it: \`./gatehouse stream --username alice\` (see [commands](commands.md)).

## Connecting

\`\`\`
GET /Platform?version=1.1 HTTP/1.1
Upgrade: websocket
Connection: Upgrade
Sec-WebSocket-Version: 13
Sec-WebSocket-Key: …
Sec-WebSocket-Protocol: PlatformJson
Authorization: Bearer ACCESS_TOKEN
\`\`\`

- \`version\` is \`<major>.<minor>\`, \`1.x\` or \`2.x\`; [version 2](#version-2) lists the differences. The name of the
  parameter is case-insensitive, like the path. Without it the newest version is used. Any other version, and a repeated parameter, gets
  a 400 that lists the supported ones.
- \`PlatformJson\` (text frames) or \`PlatformMsgPack\` (the same messages as MessagePack in binary frames) must be offered. If
  both are, the first in the client's list is chosen.
- \`permessage-deflate\` is accepted if it is offered, without context takeover and with a small window.
- With a token that is [bound to a key](dpop.md#streams), \`Authorization: DPoP …\` and a proof in \`DPoP\`.
- \`Authorization\` is optional. Without it the connection must send \`AuthToken\` within a minute. An invalid token gets a 401.
  The scheme names the provider and is case-insensitive. Tokens in the URL are ignored.
- Browsers cannot set the header, so they send \`AuthToken\`. If \`GATEHOUSE_STREAM_ORIGINS\` is set, it must contain their
  \`Origin\`.

| status | why |
|---|---|
| 400 | unknown version, no supported sub-protocol, or a malformed WebSocket handshake |
| 401 | the token is not valid here, or the provider is unknown |
| 403 | pages of this origin are not allowed to connect |
| 404 | another path |
| 426 | not an upgrade request, a request in HTTP/1.0, or another WebSocket version than 13 |
| 429 | too many connections from this address or of this user; \`Retry-After\` says when to try again |
| 503 | the node is full or stopping; \`Retry-After\` says when to try again |

A page cannot see why an upgrade was refused. While the node is full or stopping, or the address has too many
connections, the same address answers an ordinary \`GET\` with the same 429 or 503 and \`Retry-After\`, otherwise with 426. Pages of
[registered origins](clients.md#browser-pages) may read it.

## Messages

Each message is one object:

| member | type | if absent |
|---|---|---|
| \`Controller\` | text | \`Platform\` |
| \`Topic\` | text | an error, except for \`Cancel\` |
| \`Action\` | \`Publish\`, \`Sub\`, \`Unsub\`, \`Cancel\` or \`Error\` | \`Publish\` |
| \`TransactionID\` | integer | the reply is sent to a subscription of the same topic, if there is one |
| \`Data\` | anything | |
| \`Confirm\` | true or false | false |

Names are case-sensitive; other members are ignored. A message may be sent in any number of fragments.

- **Requests** are \`Publish\`. The reply has the same \`TransactionID\`, digit for digit. It can be any JSON integer,
  including 0, negative numbers and numbers beyond 2^53 (read them as 64-bit integers, not as doubles), and need not be unique.
- The requests of a connection are executed one at a time and answered in the order of arrival. A client may send thousands
  without waiting. A slow operation delays those behind it, but never for longer than its timeout.
- A request without a \`TransactionID\` whose topic is not subscribed to is executed, and answered with \`Operation.NoResult\`.
- **Subscriptions** are \`Sub\` and \`Unsub\`. They are counted: a subscription ends after as many \`Unsub\` as \`Sub\`, and a
  message is delivered once, however often its topic was subscribed to. With \`Confirm\` the server answers with the same
  action and \`"Confirm":true\`. Then a topic that has a state sends it; a repeated \`Sub\` does not send it again. A \`Sub\` that
  fails is answered with an error, and with \`"Confirm":false\` if a confirmation was requested.
- **Cancel** with the \`TransactionID\` of an unanswered request ends it with \`Operation.Abort\`. If the request has already
  been answered, nothing happens.
- Times are ISO 8601 in UTC (\`2026-11-15T00:26:00Z\`; a fraction may follow the seconds). Time spans are \`[d.]hh:mm:ss[.f]\`.

\`\`\`json
{"Controller":"Platform","Topic":"QueryServerInfo","TransactionID":1}
{"Controller":"Platform","Topic":"QueryServerInfo","Action":"Publish","TransactionID":1,"Data":{"Name":"Gatehouse","Class":"Gatehouse","Version":"${VERSION}","Protocol":"1.x"}}
\`\`\`

## Errors

\`{"Controller":…,"Topic":…,"Action":"Error","TransactionID":…,"Data":"<code>[ <context>]"}\`, with the members of the
request that could be read. The connection stays open. Where a statement is refused, the message also has \`Problem\`, the document
with which the [query service](query.md#errors) refuses it.

| code | context | when | what to do |
|---|---|---|---|
${Object.entries(STREAM_ERRORS)
  .map(([code, { context, when, advice }]) => `| \`${code}\` | ${context} | ${when} | ${advice} |`)
  .join('\n')}

## Live statements

A subscription to \`Query\`/\`Live/<name>\` holds the result of a statement: first its rows, then their changes. The client chooses the
name, of up to 128 characters, which identifies the live statement within its connection.

\`\`\`json
{"Controller":"Query","Topic":"Live/acme","Action":"Sub","TransactionID":7,"Confirm":true,"Data":{"Statement":"select price, quantity from trades where symbol = :s","Parameters":{"s":"ACME"},"MaxRate":20}}
{"Controller":"Query","Topic":"Live/acme","Action":"Sub","TransactionID":7,"Confirm":true}
{"Controller":"Query","Topic":"Live/acme","Action":"Publish","Data":{"Kind":"Snapshot","Method":"keys","Key":["id"],"Columns":{…},"Put":[{"Key":[1],"Row":{"price":"101.2500","quantity":100}}],"More":false,"Position":"kJ0…"}}
{"Controller":"Query","Topic":"Live/acme","Action":"Publish","Data":{"Kind":"Change","Put":[{"Key":[9],"Row":{"price":"101.3100","quantity":5}}],"Remove":[[4]],"Position":"kJ4…"}}
\`\`\`

| member of \`Data\` | | error |
|---|---|---|
| \`Statement\` | one \`SELECT\` in [IQL](iql.md) | \`Data Statement\`, with \`Problem\` |
| \`Parameters\` | an object with the value of each \`:name\`, or an array for \`$1\`, \`$2\`, … | \`Data.Deserialise Parameters\` |
| \`MaxRate\` | the maximum number of changes per second, from ${MIN_RATE} to ${MAX_RATE}; ${DEFAULT_RATE} by default | \`Data MaxRate\` |
| \`Resume\` | a \`Position\` that was received: what was missed since is sent instead of the snapshot | \`Data Resume\` |

- These subscriptions are not counted. A \`Sub\` of a name that is in use is \`Data Topic\`, and one \`Unsub\` ends it.
- Rights are those of a query with the same token, at every step. When they change, a \`Reset\` and the new result follow, or the
  statement ends with \`Authority\` and a confirmed \`Unsub\`. While the token is expired nothing is sent; with a fresh one the
  changes since follow.
- A statement that ends for another reason gets its error and then a confirmed \`Unsub\`: \`Limited rows\` (the result has become too
  large), \`Operation.Timeout\` (it takes too long to run), \`Operation.Abort\` (ended by an operator), \`Data Statement\` (a table
  was dropped or changed).
- A client that reads slowly is sent fewer changes, each with everything since the last. This does not close its connection.
- In \`PlatformMsgPack\` integers have up to 64 bits, and other numbers are doubles. A number in a Json value that neither can hold
  is a text.
- The same is offered [over HTTP](query.md#live-statements).

## Authenticating

\`\`\`json
{"Controller":"Auth","Topic":"AuthToken","TransactionID":1,"Data":{"Provider":"Bearer","AccessToken":"eyJhbGciOi…"}}
{"Controller":"Auth","Topic":"Identify","Action":"Publish","TransactionID":1,"Data":{"Result":"Success","AccessToken":"ZXlKaGJHY2lPaS…","DisplayName":"Alice Liddell","UserID":"alice","ExpiryDate":"2026-11-15T01:26:00Z","Scope":["Vendor.Platform.Market"]}}
\`\`\`

- \`AccessToken\` is an access token of the identity server, as it is or in Base64 (standard alphabet, with padding). Only
  access tokens for the platform are accepted; ID tokens and refresh tokens are not.
- \`Result\` is \`Success\` or \`Reject\`; a rejection contains nothing else. A missing member, or one of the wrong type, is an
  error instead.
- The \`AccessToken\` of the reply can be sent with \`AuthToken\` later, to restore a connection. It is the presented token in
  Base64: it grants nothing more, and expires at the same time. \`GATEHOUSE_STREAM_RESTORE_TOKENS\` turns it off.
- \`Scope\` lists the current rights: \`Platform/Market\` is shown as \`Vendor.Platform.Market\`. The first word is
  \`GATEHOUSE_STREAM_VENDOR\`.
- \`QueryIdentify\` replies with the same result for the current authority.
- A token that is bound to a key has the provider \`DPoP\` and a \`Proof\`: see [DPoP](dpop.md#streams).
- **Renew** the authority by sending \`AuthToken\` again with a fresh token (use the refresh token at the token endpoint). The
  new authority replaces the old one in one step; a rejected attempt changes nothing. A connection keeps its user: the token
  of another user is rejected.
- Subscribe to \`Auth\`/\`Identify\` to be notified: at once, when the authority is renewed, two minutes before it expires, when
  it has expired, when the token is revoked, and when its rights change.

In a browser or in Node no library is needed:

\`\`\`js
const stream = new WebSocket('wss://gate.example.com/Platform?version=1.1', 'PlatformJson')
const say = (message) => stream.send(JSON.stringify(message))
stream.onopen = () =>
  say({ Controller: 'Auth', Topic: 'AuthToken', TransactionID: 1, Data: { Provider: 'Bearer', AccessToken: token } })
stream.onmessage = ({ data }) => {
  const { Topic, TransactionID, Data } = JSON.parse(data)
  if (TransactionID === 1 && Data.Result === 'Success') say({ Topic: 'Feeds', Action: 'Sub' })
  else show(Topic, Data)
}
stream.onclose = ({ code }) => (code < 4000 ? comeBackLater() : askToSignIn())
\`\`\`

## Version 2

With version \`2.x\`

- the reply to \`AuthToken\` has the topic \`AuthToken\`, a rejection is \`Rejected\`, every success contains the \`AccessToken\`
  that restores the connection, and \`ExpiresIn\` (\`hh:mm:ss.f\`) is given in addition to \`ExpiryDate\`;
- replies and pushed messages have no \`Action\`, because \`Publish\` is the default. A message with an \`Action\` is an error, a
  confirmation, or an \`Unsub\` of the server;
- the answer to an \`Unsub\` of the client has no \`Confirm\`: an \`Unsub\` with \`"Confirm":true\` is one of the server, which has
  ended the subscription;
- a feed has one of the classes ${FEED_CLASSES.map((name) => `\`${name}\``).join(', ')}
  and one of the statuses ${FEED_STATUSES.map((name) => `\`${name}\``).join(', ')}. With version \`1.x\` the
  class is \`Controller\`, and the status \`Up\` for \`Active\` and \`Down\` for the others.

## When authority ends

| what happens | what the connection sees |
|---|---|
| the token expires | \`Identify\` says \`Reject\`; operations that need rights are answered with \`Authority\`; subscriptions are paused. A fresh token within a minute resumes them: a topic that has a state sends the current one first; messages published in the meantime are not sent later. If the state cannot be fetched: \`Error\`, then \`Unsub\`. After a minute: close 1008 |
| the access token is revoked | \`Identify\` says \`Reject\`; each subscription that needs rights ends with an \`Authority\` error and a confirmed \`Unsub\`. A fresh token is accepted within a minute; then close 1008 |
| some rights are removed | \`Identify\` shows those that remain; subscriptions that need others end in the same way |
| sign-out, a revoked grant, a changed password, a disabled user or client, a connection ended by an operator, a newer session if sessions are limited | unanswered requests get the error \`Session\`; close 4000 |

## Closing

The server sends a ping every 30 seconds. A connection on which nothing arrives for a minute, not even a pong, is closed.

| code | when | what the client should do |
|---|---|---|
${Object.values(CLOSE_CODES)
  .map(({ code, when, client }) => `| ${code} | ${when} | ${client} |`)
  .join('\n')}

## Limits

Each limit is a [setting](settings.md) (\`GATEHOUSE_STREAM_…\`) and has a [metric](metrics.md): the size of a message,
messages per second (\`Limited\`), subscriptions of a connection (\`Limited\`), connections in total (503), of an address and of
a user (429, or \`Limited\` for \`AuthToken\`), sessions of a user (the oldest is closed with 4000). The limits of connections
and sessions apply to each node. The name of a topic has at most 256 characters.

**Before the first sign-in** a message has at most 64 KiB (\`GATEHOUSE_STREAM_MAX_ANONYMOUS_MESSAGE_BYTES\`), which is enough for
\`AuthToken\`; afterwards 1 MiB (\`GATEHOUSE_STREAM_MAX_MESSAGE_BYTES\`). Fragments count together, and compressed messages as they are
after decompression. A longer message closes the connection with 1009, and so does a message in MessagePack with more than 65,536 texts
(names of members too), arrays, maps and binary values, which would take too long to decode; numbers do not count. A message that is sent behind \`AuthToken\`, before its reply, waits for
the reply and is then read if the sign-in succeeded.

**A client that sends too much.** Messages above the rate are answered with \`Limited\`. If a connection continues after that many refusals,
the server stops reading from it for a second at a time. Other frames count as well, before authentication too: a ping or pong as much as
a message; a fragment, 256 bytes of a message (after decompression) or eight of its values a sixteenth of it. They are not refused: the
connection is not read until the rate allows it, so they are only delayed.

**A client that reads too slowly.** Its requests wait, and past a limit are not read from the network. Of a topic that allows
it (prices) only the newest message is kept for it. If each message of a topic counts, or if nothing has been read for a
minute, the connection is closed with 1013. What is queued for all clients of an address, and for all of a node, is limited
too; past such a limit the connection with the longest queue is closed with 1013.

## Topics

\`needs\` is what the connection must have: \`nothing\`, \`identity\` (any authority) or a scope. \`GET /Platform/topics\` with an access token lists the
controllers and topics, also of controllers that were added, that the token may use.

| topic | needs | actions | |
|---|---|---|---|
${[
  ...rows('Auth', authController.topics),
  ...rows('Platform', platform.topics),
  `| \`Query/Live/*\` | identity | \`Sub\` | ${LIVE_SUMMARY} |`,
  ...rows('every controller', COMMON_TOPICS),
].join('\n')}

\`Configure\` takes \`ActionTimeout\` and \`SubscriptionTimeout\` (time spans from one second to an hour; the default is 35
seconds), for one controller on this connection.

## Remote controllers

A program of your own answers requests, in any language and on any machine, without a module inside the server. Declare it in the
[declarative file](configuration.md#controllers), with \`gatehouse controller add\` or in \`/admin/controllers\`; this needs
\`Platform/Admin\`. Every node uses a change at once, also for clients that are connected.

\`\`\`yaml
controllers:
  - name: Orders
    url: https://oms.internal/gatehouse
    topics:
      - { name: Place, needs: Platform/Trading }
      - { name: Cancel, needs: Platform/Trading }
\`\`\`

When a client with the right sends a request, the server posts it to the URL:

\`\`\`
POST /gatehouse HTTP/1.1
Content-Type: application/json
Authorization: Bearer eyJhbGciOi…
X-Request-Id: 4f0c…
traceparent: 00-…

{"Controller":"Orders","Topic":"Place","TransactionID":7,"Data":{"Quantity":100,"Price":101.25}}
\`\`\`

\`Data\` is the text that the client has sent, digit for digit; read prices as decimals, and \`TransactionID\` as an integer of 64 bits.
Members that the client did not send are absent. \`Data\` is the client's own: who the caller is, and what they may do, is in the token alone.

**The token** is issued for this call. Verify it with any JWT library and the keys of the server (\`jwks_uri\` of its discovery
document): algorithm \`RS256\`, \`iss\` the server, \`aud\` the URL as it is declared, \`exp\` a minute after \`iat\`. \`sub\`, \`client_id\`,
\`scope\` and \`role\` are those of the caller; \`jti\`, which is also \`X-Request-Id\`, is unique. The type in its header is
\`call+jwt\`: configure libraries that refuse types other than \`JWT\` by default. The services of the server itself do not accept
such a token.

| what the program replies | what the client gets |
|---|---|
| \`200\` with \`application/json\` | the reply, whose \`Data\` is this text, digit for digit |
| \`4xx\` with \`application/problem+json\` (RFC 9457) | \`Error\` \`Data\` and the \`detail\`, or the \`title\`, up to 1,000 characters |
| nothing within the timeout | \`Error\` \`Operation.Timeout\` |
| anything else: another status or type, a redirect, no JSON, more bytes than a message may have, a broken connection | \`Error\` \`Fault\` |

- **Nothing is repeated** and no redirect is followed. After \`Fault\` and \`Operation.Timeout\` it is not known whether the program has acted
  on the request. Let clients send a key of their own in \`Data\` if they are to repeat it. Both are logged with the id of the request and the
  reason.
- **Cancel** ends the request to the program: HTTP/1.1 closes the connection, HTTP/2 resets the stream. So does the end of the client's
  connection, and its \`ActionTimeout\` if that is shorter than the timeout of the controller.
- **Connections** are kept and used again; an idle one is closed after 1.5 seconds, or a second before the time in \`Keep-Alive:
  timeout=…\`, so that a program that keeps idle connections for two seconds or more does not close one just as a request is sent.
  With TLS, HTTP/2 is used if the program offers it. Private addresses are allowed. Use https except on one machine: the request and its
  token are readable on the way otherwise. \`NODE_EXTRA_CA_CERTS\` names a file with the authority of your own certificates.
- **Limits**: \`concurrency\` requests at once from each node, whose workers share them (64 by default); 16 times as many wait, each for no longer
  than the timeout. Others are answered with \`Limited\`. One user never takes all of them: the last free one is for another user, and those
  who wait take turns.
- [Metrics](metrics.md): \`gatehouse_remote_calls_total\`, \`gatehouse_remote_call_seconds\` and \`gatehouse_remote_calls\`, for each
  controller. With traces, each request has a span; \`traceparent\` continues the trace of the client's upgrade request, if that had one.
- A name that a built-in controller or a [module](#adding-controllers) has is refused. Topics that end in \`/*\` match all topics with that prefix.

[examples/orders](../examples/orders/README.md) has such a program in Python and in Go.

## Adding controllers

A controller is a module with a default export; \`GATEHOUSE_STREAM_CONTROLLERS\` names the module or a folder of modules.
[examples/ticker](../examples/ticker/ticker.ts) is a complete example. A controller has

- \`name\` and \`summary\`, and optionally \`feedClass\`, the class of its feed in [version 2](#version-2) (by default \`Channel\`);
- \`topics\`: each has a \`summary\`, what it \`needs\`, and \`publish(call)\`, \`subscription\`, or both. A name that ends in \`/*\`
  matches all topics with that prefix;
- \`publish(call)\` returns the \`Data\` of the reply, or a promise of it. \`call\` has \`topic\`, \`data\`, \`principal\` and a \`signal\`
  that is aborted when the client cancels or disconnects, or when the operation times out (\`isAborted\` tells whether it is,
  without creating it). \`throw refuse('Data', 'Price')\`
  sends an error reply; any other exception is logged and answered with \`Fault\`;
- \`subscription\`: \`slow\` says what happens to a client that reads too slowly (\`latest\` keeps the newest message, \`close\` closes
  the connection). \`snapshot(call)\` returns the initial state, or a promise of it. Messages published before the promise is
  fulfilled are sent after the state (\`latest\`: the newest; \`close\`: up to 1,000, past which the \`Sub\` fails), so the state
  may already include them;
- instead of \`slow\`, a \`subscription\` can have \`open(call, sink)\`, which runs the subscription of each client by itself: it returns a
  promise of an object with \`drained\`, \`setPrincipal\`, \`pause\`, \`resume\` and \`close\`, and sends JSON texts with
  \`sink.send(data)\` while \`sink.maySend\` is true, which it asks before each message;
- \`start(publisher)\` is called once; \`publisher.publish(topic, data)\` sends to every subscriber, whose rights the gateway
  checks. \`publisher.setStatus('Impaired')\` changes the status of its feed, which is \`Active\` at first, and pushes \`Feeds\` to
  their subscribers. The function that it returns is called when the server stops.

An uncaught error, in a timer, a promise or an emitter that a controller has started, is logged with its name and counted in
\`gatehouse_controller_faults_total\`. The server continues ([faults](hardening.md#faults)).
`,
}

function rows(controller: string, topics: Readonly<Record<string, Topic>>): string[] {
  return Object.entries(topics).map(([name, { needs, summary, publish, subscription }]) => {
    const actions = [publish && '`Publish`', subscription && '`Sub`'].filter(Boolean).join(', ')
    const topic = controller.includes(' ') ? `${controller}: \`${name}\`` : `\`${controller}/${name}\``
    return `| ${topic} | ${needs} | ${actions} | ${summary} |`
  })
}
