/** Clients that leave while the server still authenticates them hold nothing afterwards: event streams, live statements, WebSockets, queries. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { after, before, test } from 'node:test'
import pg from 'pg'
import { bearer, signIn } from '../support/demo-user.ts'
import { openPlace } from '../support/engines.ts'
import { openEvents } from '../support/event-client.ts'
import { stopOwnPostgres } from '../support/postgres.ts'
import { until } from '../support/until.ts'
import { type FeedServer, startFeedServer } from './feed-server.ts'

const PLACES = 3

let server: FeedServer
let database: pg.Client
let leave: () => Promise<void>
before(async () => {
  const opened = await openPlace('postgres', { isMigrated: true })
  leave = opened.leave
  server = await startFeedServer(opened.place, {
    flags: {
      '--stream-max-connections-per-user': String(PLACES),
      '--live-statements-per-user': String(PLACES),
      '--query-per-user': String(PLACES),
    },
  })
  database = new pg.Client({ connectionString: opened.place.databaseUrl })
  await database.connect()
})
after(async () => {
  await database.end()
  await server.stop()
  await leave()
  await stopOwnPostgres()
})

const STATEMENT = 'SELECT id FROM trades'
const EVENTS = 'Accept: text/event-stream\r\n'
const UPGRADE =
  'Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n'

const REQUESTS: Readonly<Record<string, { readonly head: string; readonly body?: string }>> = {
  'events of a feed': { head: `GET /feeds/Prices/left HTTP/1.1\r\n${EVENTS}` },
  'a live statement': { head: `POST /query HTTP/1.1\r\n${EVENTS}Content-Type: text/plain\r\n`, body: STATEMENT },
  'a live statement by GET': { head: `GET /query?statement=${encodeURIComponent(STATEMENT)} HTTP/1.1\r\n${EVENTS}` },
  'a query': { head: 'POST /query HTTP/1.1\r\nContent-Type: text/plain\r\n', body: STATEMENT },
  'a WebSocket': { head: `GET / HTTP/1.1\r\n${UPGRADE}` },
}

test('none of them holds a place of its user', async () => {
  const token = (await signIn(server)).access_token
  // The first requests of a token read its user.
  await database.query('begin; lock table gatehouse.users in access exclusive mode')
  for (const { head, body = '' } of Object.values(REQUESTS))
    for (let each = 0; each < PLACES; each++) {
      const socket = connect(server.port, '127.0.0.1').on('error', () => {})
      await once(socket, 'connect')
      const length = body === '' ? '' : `Content-Length: ${body.length}\r\n`
      socket.write(`${head}Host: x\r\nAuthorization: Bearer ${token}\r\n${length}\r\n${body}`)
      await until('it waits for the database', 5000, async () => (await waiting()) > 0)
      socket.resetAndDestroy()
    }
  await until('the server knows that they have left', 5000, async () => {
    const left = server.log.map((line) => JSON.parse(line)).filter(({ res }) => res?.status === 499)
    return left.length >= PLACES * (Object.keys(REQUESTS).length - 1)
  })
  await database.query('rollback')

  const url = `http://127.0.0.1:${server.port}`
  const open = {
    feeds: () => server.events('/feeds/Prices/left'),
    live: () =>
      openEvents(`${url}/query`, { token: server.trader, body: STATEMENT, headers: { 'content-type': 'text/plain' } }),
  }
  for (const [name, begin] of Object.entries(open)) {
    const streams = []
    for (let each = 0; each < PLACES; each++) streams.push(await begin())
    assert.deepEqual(
      streams.map(({ status }) => status),
      streams.map(() => 200),
      name,
    )
    for (const events of streams) events.close()
  }
  await until('no connection and no query is left', 5000, async () => {
    const replies = await Promise.all(
      ['/admin/streams', '/admin/queries'].map((path) => fetch(`${url}${path}`, bearer(server.admin))),
    )
    const listed = await Promise.all(replies.map((reply) => reply.text()))
    return listed.every((text) => JSON.parse(text).items.length === 0)
  })
})

async function waiting(): Promise<number> {
  const { rows } = await database.query(
    "select 1 from pg_locks where not granted and relation = 'gatehouse.users'::regclass",
  )
  return rows.length
}
