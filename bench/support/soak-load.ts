/** The parts of the load of a long run. Each works at its rate until the signal, over connections that come and go. */
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { type RawData, WebSocket } from 'ws'
import { WireSession } from '../../test/support/wire-session.ts'
import { isOverload, post, query, type SoakServer } from './soak-server.ts'

export type Part = (server: SoakServer, speed: number, signal: AbortSignal) => Promise<void>

/** By name; the rates are those of speed 1, in a second. */
export const PARTS = {
  /** Single rows, and a result of a hundred now and then. */
  async inserts(server, speed, signal) {
    const run = Date.now()
    await Promise.all([
      pace(38 * speed, signal, async (number) => {
        const values = { id: run + number, symbol: `S${number % 50}`, price: '101.25', note: 'n'.repeat(number % 400) }
        await query(server, 'INSERT INTO soak (id, symbol, price, note) VALUES (:id, :symbol, :price, :note)', values)
        server.count('inserts')
      }),
      pace(4 * speed, signal, async (number) => {
        const text = `SELECT id, symbol, price, note FROM soak WHERE symbol = 'S${number % 50}' ORDER BY id DESC LIMIT ${100 + (number % 30)}`
        await query(server, text)
        server.count('results')
      }),
    ])
  },
  /** Publishers over HTTP. Subscribers are part of `streams`. */
  async feeds(server, speed, signal) {
    await pace(14 * speed, signal, async (number) => {
      const [feed, topic] = number % 2 === 0 ? ['Orders', 'all'] : ['Prices', `S${number % 20}`]
      await post(server, `/feeds/${feed}/${topic}`, { number, text: 'm'.repeat(number % 1500) })
      server.count('messages')
    })
  },
  /** Subscribers of feeds over compressed streams; each stays for a while and resumes by a new connection. */
  streams: (server, speed, signal) =>
    visits(40, 1 * speed, signal, async () => {
      const stream = await openStream(server)
      for (const [Controller, Topic] of [
        ['Orders', 'all'],
        ['Prices', 'S1'],
      ])
        stream.send(JSON.stringify({ Controller, Topic, Action: 'Sub', TransactionID: 1, Confirm: true }))
      server.count('streams')
      return stream
    }),
  /** Subscribers of live statements over compressed streams. */
  live: (server, speed, signal) =>
    visits(20, 0.5 * speed, signal, async (number) => {
      const stream = await openStream(server)
      const statements = [
        `SELECT id, symbol, price FROM soak WHERE symbol = 'S${number % 50}' ORDER BY id DESC LIMIT 50`,
        'SELECT symbol, count(*) AS n, max(price) AS top FROM soak GROUP BY symbol',
      ]
      for (const [index, Statement] of statements.entries())
        stream.send(
          JSON.stringify({
            Controller: 'Query',
            Topic: `Live/${index}`,
            Action: 'Sub',
            Data: { Statement, MaxRate: 5 },
          }),
        )
      server.count('live')
      return stream
    }),
  /** Connections by PostgreSQL's protocol, with simple and extended statements. */
  wire: (server, speed, signal) =>
    visits(5, 0.5 * speed, signal, async () => {
      const session = await WireSession.open(server.wirePort, 'demo-service', 'demo-service-secret')
      const stop = new AbortController()
      void pace(2 * speed, AbortSignal.any([signal, stop.signal]), async (number) => {
        await session.query(`SELECT id, price FROM soak WHERE symbol = 'S${number % 50}' ORDER BY id DESC LIMIT 20`)
        await session.run('SELECT count(*) FROM soak WHERE id > $1', [String(number)], { types: [20] })
        if (number % 20 === 0) await session.query('SELECT relname FROM pg_catalog.pg_class LIMIT 5')
        server.count('wire')
      }).catch(() => undefined)
      return {
        terminate() {
          stop.abort()
          session.close()
        },
      }
    }),
  /** People with passwords, refreshes, services, and userinfo. */
  async signins(server, speed, signal) {
    const token = async (form: Record<string, string>): Promise<Record<string, string> | undefined> => {
      const body = new URLSearchParams(form)
      const response = await fetch(`http://127.0.0.1:${server.port}/connect/token`, { method: 'POST', body })
      const reply = (await response.json()) as Record<string, string>
      if (isOverload(response)) return void server.count('refused')
      if (!response.ok) throw new Error(`/connect/token: ${JSON.stringify(reply)}`)
      server.count('tokens')
      return reply
    }
    await Promise.all([
      pace(0.5 * speed, signal, async () => {
        const scope = 'openid profile offline_access Platform/Market'
        const user = { username: 'alice', password: 'wonderland-1' }
        const signedIn = await token({ grant_type: 'password', client_id: 'demo-cli', ...user, scope })
        if (signedIn === undefined) return
        const headers = { authorization: `Bearer ${signedIn.access_token}` }
        await (await fetch(`http://127.0.0.1:${server.port}/connect/userinfo`, { headers })).text()
        const refresh_token = signedIn.refresh_token ?? ''
        await token({ grant_type: 'refresh_token', client_id: 'demo-cli', refresh_token })
      }),
      pace(1 * speed, signal, async () => {
        await token({
          grant_type: 'client_credentials',
          client_id: 'demo-service',
          client_secret: 'demo-service-secret',
        })
      }),
    ])
  },
} satisfies Record<string, Part>

/** Calls at a rate, with as many at a time as that takes, up to a bound; rejects with the first error. */
async function pace(
  perSecond: number,
  signal: AbortSignal,
  act: (number: number) => Promise<void>,
  most = 32,
): Promise<void> {
  const started = performance.now()
  const running = new Set<Promise<void>>()
  let failure: unknown
  for (let number = 0; !signal.aborted && failure === undefined; number++) {
    const due = started + (number * 1000) / perSecond - performance.now()
    if (due > 0) await sleep(due, undefined, { signal }).catch(() => undefined)
    while (running.size >= most) await Promise.race(running)
    if (signal.aborted) break
    const call: Promise<void> = act(number)
      .catch((error: unknown) => {
        if (!signal.aborted) failure ??= error
      })
      .finally(() => running.delete(call))
    running.add(call)
  }
  await Promise.all(running)
  if (failure !== undefined) throw failure
}

/** Keeps `most` visitors, and replaces the oldest by a new one at a rate. */
async function visits(
  most: number,
  perSecond: number,
  signal: AbortSignal,
  open: (number: number) => Promise<{ terminate(): void }>,
): Promise<void> {
  const here: { terminate(): void }[] = []
  try {
    for (let number = 0; number < most && !signal.aborted; number++) here.push(await open(number))
    const replace = async (number: number): Promise<void> => {
      here.push(await open(most + number))
      here.shift()?.terminate()
    }
    // One at a time: a client of the wire may have 20 connections.
    await pace(perSecond, signal, replace, 1)
  } finally {
    for (const visitor of here) visitor.terminate()
  }
}

async function openStream(server: SoakServer): Promise<WebSocket> {
  const socket = new WebSocket(`ws://127.0.0.1:${server.port}/Platform?version=1.1`, ['PlatformJson'], {
    ...{ perMessageDeflate: { threshold: 0 }, headers: { authorization: `Bearer ${await server.token()}` } },
  })
  socket.on('error', () => {})
  await once(socket, 'open')
  socket.on('message', (data: RawData) => {
    server.count('received')
    if (data.toString().includes('"Error"')) throw new Error(`A stream was refused: ${data.toString()}`)
  })
  socket.send(JSON.stringify({ Controller: 'Auth', Topic: 'QueryIdentify', TransactionID: 1 }))
  return socket
}
