/** The servers of the measurements of feeds: ours, Centrifugo and NATS, each with one topic that connections publish to and follow. */
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type RawData, WebSocket } from 'ws'
import { type Checkout, serve } from './checkout.ts'
import { centrifugoServer, natsServer } from './fetched-peers.ts'
import type { TreeUse } from './process-tree.ts'
import { launch, newPort, temporaryFolder } from './program.ts'
import { adminToken, serviceToken } from './tokens.ts'

/** What a feed keeps. */
export type Kept = 'nothing' | 'latest' | 'history'

export interface FeedConnection {
  readonly socket: WebSocket
  /** Resolves when it is confirmed. */
  subscribe(): Promise<void>
  /** Resolves when it is acknowledged. The data is JSON. */
  publish(data: string): Promise<void>
}

export interface FeedPeerServer {
  readonly port: number
  use(): TreeUse
  connect(): Promise<FeedConnection>
  stop(): Promise<void>
}

export interface FeedPeer {
  start(): Promise<FeedPeerServer>
  close(): Promise<void>
}

/** The longest that one measurement takes: no server closes a connection whose pings are not answered. */
const NO_PINGS = '600'
export const HISTORY_MESSAGES = 1_000
export const FEED_OF: Readonly<Record<Kept, string>> = { nothing: 'News', latest: 'Prices', history: 'Orders' }

const FEEDS = `feeds:
  - { name: News, keep: all, rate: 1000000, write: Platform/Trading }
  - { name: Prices, keep: latest, rate: 1000000, write: Platform/Trading }
  - { name: Orders, keep: all, rate: 1000000, write: Platform/Trading, history: { messages: ${HISTORY_MESSAGES} } }
`

export interface FeedServer extends FeedPeerServer {
  /** Two publishers: the administrator and a service. */
  readonly tokens: readonly [string, string]
  connect(options?: { readonly kept?: Kept; readonly token?: string }): Promise<FeedConnection & GatehouseExtras>
}

export interface GatehouseExtras {
  /** A request to a controller that replies with its data. */
  echo(): Promise<void>
}

/** One server with all three feeds. */
export async function gatehouseFeeds(
  checkout: Checkout,
  kept: Kept,
  more: Readonly<Record<string, string>> = {},
  /** Added to the declared file. */
  declared = '',
): Promise<{ start(): Promise<FeedServer>; close(): Promise<void> }> {
  const folder = await temporaryFolder()
  const config = join(folder.path, 'feeds.yaml')
  await writeFile(config, FEEDS + declared)
  let started = 0
  return {
    async start() {
      const port = newPort()
      const program = await serve(
        checkout,
        {
          ...{ '--demo': 'true', '--demo-market': 'false', '--port': String(port), '--log-level': 'warn' },
          // A new file each time: a round does not begin with what the one before has published.
          ...{ '--data': join(folder.path, String(started++)), '--config': config },
          ...{ '--stream-controllers': join(checkout.root, 'bench/stream-controller.ts') },
          ...{ '--stream-messages-per-second': '10000000', '--stream-message-burst': '10000000' },
          ...{ '--stream-max-connections-per-user': '1000000', '--stream-max-sessions-per-user': '1000000' },
          ...{ '--stream-max-connections-per-address': '1000000', '--max-connections-per-address': '1000000' },
          ...{ '--stream-drain-time': '0', '--stream-ping-interval': NO_PINGS, '--stream-idle-timeout': '1200' },
          ...{ '--feed-publisher-rate': '1000000', ...more },
        },
        { readyAt: `http://127.0.0.1:${port}/readyz` },
      )
      const tokens = [await adminToken(port), await serviceToken(port)] as const
      return {
        ...program,
        ...{ port, tokens },
        connect: ({ kept: other = kept, token = tokens[0] } = {}) => connectGatehouse(port, token, FEED_OF[other]),
      }
    },
    close: folder.remove,
  }
}

async function connectGatehouse(port: number, token: string, feed: string): Promise<FeedConnection & GatehouseExtras> {
  const socket = new WebSocket(`ws://127.0.0.1:${port}/Platform?version=1.1`, ['PlatformJson'], {
    ...{ perMessageDeflate: false, headers: { Authorization: `Bearer ${token}` } },
  })
  const ask = await asking(socket, (text) => (text.includes('"TransactionID"') ? [text] : []))
  const echo = `{"Controller":"Bench","Topic":"Echo","TransactionID":1,"Data":"${'x'.repeat(100)}"}`
  return {
    socket,
    subscribe: () =>
      ask(`{"Controller":"${feed}","Topic":"all","Action":"Sub","TransactionID":1,"Confirm":true}`, '"Confirm":true'),
    publish: (data) =>
      ask(`{"Controller":"${feed}","Topic":"all","Action":"Publish","TransactionID":1,"Data":${data}}`),
    echo: () => ask(echo),
  }
}

export const CENTRIFUGO_KEY = 'bench'

/** It checks no tokens here. Undefined where it cannot be fetched. */
export async function centrifugoFeeds(kept: Kept): Promise<FeedPeer | undefined> {
  const program = centrifugoServer()
  if (program === undefined) return undefined
  const folder = await temporaryFolder()
  const port = newPort()
  const config = join(folder.path, 'config.json')
  const settings = {
    ...{ address: '127.0.0.1', port, health: true, log_level: 'error', api_key: CENTRIFUGO_KEY },
    ...{ client_insecure: true, allow_subscribe_for_client: true, allow_publish_for_client: true },
    ...{ ping_interval: `${NO_PINGS}s`, pong_timeout: '60s', client_channel_limit: 10_000 },
    ...(kept === 'nothing' ? {} : { history_size: kept === 'latest' ? 1 : HISTORY_MESSAGES, history_ttl: '3600s' }),
  }
  await writeFile(config, JSON.stringify(settings))
  return {
    async start() {
      const server = await launch(program, ['-c', config], { readyAt: `http://127.0.0.1:${port}/health`, quiet: true })
      return { ...server, port, connect: () => connectCentrifugo(port) }
    },
    close: folder.remove,
  }
}

async function connectCentrifugo(port: number): Promise<FeedConnection> {
  const socket = new WebSocket(`ws://127.0.0.1:${port}/connection/websocket`, { perMessageDeflate: false })
  const ask = await asking(socket, (text) => text.split('\n').filter((line) => line.startsWith('{"id":')))
  await ask('{"id":1,"connect":{}}', '"connect"')
  return {
    socket,
    subscribe: () => ask('{"id":1,"subscribe":{"channel":"all"}}', '"subscribe"'),
    publish: (data) => ask(`{"id":1,"publish":{"channel":"all","data":${data}}}`, '"publish"'),
  }
}

/** Its core, which keeps nothing. It checks no tokens. Undefined where it cannot be fetched. */
export async function natsFeeds(): Promise<FeedPeer | undefined> {
  const program = natsServer()
  if (program === undefined) return undefined
  const folder = await temporaryFolder()
  const [port, clientPort, monitorPort] = [newPort(), newPort(), newPort()]
  const config = join(folder.path, 'nats.conf')
  await writeFile(
    config,
    `listen: 127.0.0.1:${clientPort}\nhttp: 127.0.0.1:${monitorPort}\nmax_connections: 100000\nping_interval: "${NO_PINGS}s"\nwebsocket { listen: "127.0.0.1:${port}", no_tls: true }\n`,
  )
  return {
    async start() {
      const readyAt = `http://127.0.0.1:${monitorPort}/healthz`
      const server = await launch(program, ['-c', config], { readyAt, quiet: true })
      return { ...server, port, connect: () => connectNats(port) }
    },
    close: folder.remove,
  }
}

async function connectNats(port: number): Promise<FeedConnection> {
  const socket = new WebSocket(`ws://127.0.0.1:${port}`, { perMessageDeflate: false })
  const ask = await asking(socket, (text) => text.match(/^PONG/gm) ?? [])
  await ask('CONNECT {"verbose":false,"pedantic":false}\r\nPING\r\n')
  return {
    socket,
    subscribe: () => ask('SUB bench.all 1\r\nPING\r\n'),
    publish: (data) => ask(`PUB bench.all ${data.length}\r\n${data}\r\nPING\r\n`),
  }
}

/** Sends a text and waits for its reply, which must contain another. Replies come in the order of what was sent. */
async function asking(
  socket: WebSocket,
  repliesIn: (text: string) => readonly string[],
): Promise<(text: string, expected?: string) => Promise<void>> {
  const waiting: ((reply: string) => void)[] = []
  socket.on('message', (data: RawData) => {
    for (const reply of repliesIn(data.toString())) waiting.shift()?.(reply)
  })
  await once(socket, 'open')
  return (text, expected = '') =>
    new Promise((resolve, reject) => {
      waiting.push((reply) =>
        reply.includes(expected) && !/"error"/i.test(reply)
          ? resolve()
          : reject(new Error(`The reply is ${reply.slice(0, 300)}`)),
      )
      socket.send(text)
    })
}
