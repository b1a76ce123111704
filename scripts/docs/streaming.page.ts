/** docs/streaming.md: the guide for client developers, with the tables of errors, close codes and topics of the program. */
import { CLOSE_CODES } from '../../src/protocol/close-codes.ts'
import { STREAM_ERRORS } from '../../src/protocol/stream-errors.ts'
import type { Topic } from '../../src/streaming/controller.ts'
import { authController } from '../../src/streaming/controllers/auth.ts'
import { COMMON_TOPICS } from '../../src/streaming/controllers/common.ts'
import { createPlatformController } from '../../src/streaming/controllers/platform.ts'
import { type GeneratedPage, NOTICE } from './page.ts'

const platform = createPlatformController({ Name: '', Class: '', Version: '' }, () => [])

export const page: GeneratedPage = {
  path: 'docs/streaming.md',
  render: () => `${NOTICE}

# Streaming

One WebSocket connection carries requests, replies and subscriptions as JSON messages. It acts for one user, by an access
token, and loses what the user loses: a sign-out, a revoked token or a lowered right is felt by live connections at once, on
every node.

Try it: \`npx gatehouse stream --username alice\` (see [commands](commands.md)).

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

- \`version\` is \`<major>.<minor>\`. \`1.x\` and \`2.x\` differ only in the replies of \`Auth\`, below; without it the newest is
  spoken. Anything else is a 400 that lists the supported ones.
- \`PlatformJson\` (text frames) or \`PlatformMsgPack\` (the same messages as MessagePack in binary frames) must be offered; of
  both, the first in the client's list is taken.
- \`permessage-deflate\` is agreed to when offered, without context takeover and with a small window.
- \`Authorization\` may be left out; then the connection must send \`AuthToken\` within a minute. A token that is not good is
  a 401. The scheme word is the provider, in any case. Tokens in the address are ignored.
- Browsers cannot set the header: they send \`AuthToken\`. Their \`Origin\` must be in \`GATEHOUSE_STREAM_ORIGINS\` where that is
  set.

| status | why |
|---|---|
| 400 | unknown version, no known sub-protocol, or a broken WebSocket handshake |
| 401 | the token is not valid here, or the provider is unknown |
| 403 | pages of this origin may not connect |
| 404 | another path |
| 426 | a plain request, not an upgrade; or one in HTTP/1.0 |
| 429 | too many connections of this address or user; \`Retry-After\` says when to come back |
| 503 | the node is full or is stopping; \`Retry-After\` says when to come back |

## Messages

One object for each frame:

| member | type | without it |
|---|---|---|
| \`Controller\` | text | \`Platform\` |
| \`Topic\` | text | an error, except for \`Cancel\` |
| \`Action\` | \`Publish\`, \`Sub\`, \`Unsub\`, \`Cancel\` or \`Error\` | \`Publish\` |
| \`TransactionID\` | integer | the reply goes to a subscription of the same topic, if there is one |
| \`Data\` | anything | |
| \`Confirm\` | true or false | false |

Names are case-sensitive; members not in the table are ignored.

- **Requests** are \`Publish\`. The reply carries the same \`TransactionID\`, digit for digit: any JSON integer will do, also 0,
  negative ones and those beyond 2^53 (read them as 64-bit integers, not as doubles). It need not be unique.
- Requests of a connection are carried out one after another and answered in the order in which they came; sending
  thousands without waiting is fine. A slow operation holds up those behind it, never for longer than its timeout.
- A request without a \`TransactionID\` whose topic is not subscribed to is carried out and answered with
  \`Operation.NoResult\`.
- **Subscriptions** are \`Sub\` and \`Unsub\`. They are counted: as many \`Unsub\` as \`Sub\` end one, and a message is delivered
  once however often its topic was subscribed to. With \`Confirm\` the server answers with the same action and
  \`"Confirm":true\`; a topic with a state then sends it; a repeated \`Sub\` does not send it again. A \`Sub\` that fails is
  answered with an error, and with \`"Confirm":false\` if a confirmation was asked for.
- **Cancel** with the \`TransactionID\` of an unanswered request ends it with \`Operation.Abort\`. If it was answered in the
  meantime, nothing happens.
- Times are ISO 8601 in UTC (\`2026-11-15T00:26:00Z\`, a fraction may follow the seconds); spans are \`[d.]hh:mm:ss[.f]\`.

\`\`\`json
{"Controller":"Platform","Topic":"QueryServerInfo","TransactionID":1}
{"Controller":"Platform","Topic":"QueryServerInfo","Action":"Publish","TransactionID":1,"Data":{"Name":"Gatehouse","Class":"Gatehouse","Version":"0.1.0","Protocol":"1.x"}}
\`\`\`

## Errors

\`{"Controller":…,"Topic":…,"Action":"Error","TransactionID":…,"Data":"<code>[ <context>]"}\`, with whatever of the request
could be read. The connection goes on.

| code | context | when | what to do |
|---|---|---|---|
${Object.entries(STREAM_ERRORS)
  .map(([code, { context, when, advice }]) => `| \`${code}\` | ${context} | ${when} | ${advice} |`)
  .join('\n')}

## Authenticating

\`\`\`json
{"Controller":"Auth","Topic":"AuthToken","TransactionID":1,"Data":{"Provider":"Bearer","AccessToken":"eyJhbGciOi…"}}
{"Controller":"Auth","Topic":"Identify","Action":"Publish","TransactionID":1,"Data":{"Result":"Success","AccessToken":"ZXlKaGJHY2lPaS…","DisplayName":"Alice Liddell","UserID":"alice","ExpiryDate":"2026-11-15T01:26:00Z","Scope":["Vendor.Platform.Market"]}}
\`\`\`

- \`AccessToken\` is an access token of the identity server, as it is or in Base-64 (standard alphabet, with padding). Only
  access tokens for the platform are good: no ID token, no refresh token.
- \`Result\` is \`Success\` or \`Reject\`; a rejection says nothing else. A missing or wrongly typed member is an error instead.
- The \`AccessToken\` of the reply restores a connection later, through \`AuthToken\`. It is the token that was presented, in
  Base-64: it opens nothing that its holder could not open before, and ends when that ends. \`GATEHOUSE_STREAM_RESTORE_TOKENS\`
  turns it off.
- \`Scope\` names the rights in force: \`Platform/Market\` is shown as \`Vendor.Platform.Market\`; the first word is
  \`GATEHOUSE_STREAM_VENDOR\`.
- \`QueryIdentify\` answers with the same result for the authority in force.
- **Renew** by sending \`AuthToken\` again with a fresh token (use the refresh token at the token endpoint). The new authority
  replaces the old in one step; a rejected attempt changes nothing. A connection stays with its user: a token of another user
  is rejected.
- Subscribe to \`Auth\`/\`Identify\` to be told: now, when the authority is renewed, two minutes before it expires, when it has
  expired, when the token is revoked, when its rights change.

A page in a browser, or Node, needs no library:

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

With version \`2.x\` the reply to \`AuthToken\` has the topic \`AuthToken\`, a rejection is \`Rejected\`, every success carries the
\`AccessToken\` that restores the connection, and \`ExpiresIn\` (\`hh:mm:ss.f\`) stands beside \`ExpiryDate\`.

## When authority ends

| what happens | what the connection sees |
|---|---|
| the token expires | \`Identify\` says \`Reject\`; operations that need rights answer \`Authority\`; subscriptions are quiet. A fresh token within a minute resumes them, with the present state where a topic has one, before anything that is published from then on; what was published in between is not sent later. Where the state cannot be had: \`Error\`, then \`Unsub\`. After that minute: close 1008 |
| the access token is revoked | \`Identify\` says \`Reject\`; each subscription that needs rights ends with an \`Authority\` error and a confirmed \`Unsub\`. A fresh token may follow within a minute; then close 1008 |
| some rights are taken away | \`Identify\` shows what is left; subscriptions that need more end in the same way |
| sign-out, a revoked grant, a changed password, a disabled user or client, an operator's kick, a newer session where sessions are limited | unanswered requests get the error \`Session\`; close 4000 |

## Closing

The server pings every 30 seconds; a client that sends nothing at all for a minute, not even a pong, is closed.

| code | when | what the client should do |
|---|---|---|
${Object.values(CLOSE_CODES)
  .map(({ code, when, client }) => `| ${code} | ${when} | ${client} |`)
  .join('\n')}

## Limits

Each is a [setting](settings.md) (\`GATEHOUSE_STREAM_…\`) and shows on the [metrics page](metrics.md): size of a message,
messages in a second (\`Limited\`), subscriptions of a connection (\`Limited\`), connections in all (503), of an address and of a
user (429, or \`Limited\` for \`AuthToken\`), sessions of a user (the oldest is closed with 4000). The limits of connections and
sessions hold for each node. The name of a topic has 256 characters at most. A connection that sends on past a second burst
of refusals is not read for a second at a time.

A client that does not read: its requests wait, and are not read from the network beyond a limit; of a topic that says so
(prices) only the newest message is kept for it; where each message counts its connection is closed with 1013, as it is
when nothing has been read for a minute.

## Topics

\`needs\` is what the connection must hold: \`nothing\`, \`identity\` (any authority in force) or a scope.

| topic | needs | actions | |
|---|---|---|---|
${[
  ...rows('Auth', authController.topics),
  ...rows('Platform', platform.topics),
  ...rows('every controller', COMMON_TOPICS),
].join('\n')}

\`Configure\` takes \`ActionTimeout\` and \`SubscriptionTimeout\` (time spans from one second to an hour; 35 seconds at first),
for one controller on this connection.

## Adding controllers

A controller is one module with a default export; \`GATEHOUSE_STREAM_CONTROLLERS\` names the module or a folder of them.
[examples/ticker](../examples/ticker/ticker.ts) is a whole one. It has

- \`name\` and \`summary\`;
- \`topics\`: for each its \`summary\`, what it \`needs\`, and \`publish(call)\`, \`subscription\`, or both. A name that ends in \`/*\`
  stands for all topics with that beginning;
- \`publish(call)\` returns the \`Data\` of the reply, or a promise of it; \`call\` has \`topic\`, \`data\`, \`principal\` and a
  \`signal\` that is aborted when the client cancels, leaves or the time is up. \`throw refuse('Data', 'Price')\` is an error
  reply; any other exception is logged and answered with \`Fault\`;
- \`subscription\`: \`slow\` says what happens to a client that reads too slowly (\`latest\` keeps the newest message, \`close\`
  ends the connection), \`snapshot(call)\` gives the state to begin with, or a promise of it: what is published until
  then follows it (\`latest\`: the newest; \`close\`: up to 1,000 messages, past which the \`Sub\` fails), so the state may
  already hold what those messages say;
- \`start(stage)\` is called once; \`stage.publish(topic, data)\` sends to every subscriber, whose rights are checked by the
  gateway. What it returns is called when the server stops.
`,
}

function rows(controller: string, topics: Readonly<Record<string, Topic>>): string[] {
  return Object.entries(topics).map(([name, { needs, summary, publish, subscription }]) => {
    const actions = [publish && '`Publish`', subscription && '`Sub`'].filter(Boolean).join(', ')
    const topic = controller.includes(' ') ? `${controller}: \`${name}\`` : `\`${controller}/${name}\``
    return `| ${topic} | ${needs} | ${actions} | ${summary} |`
  })
}
