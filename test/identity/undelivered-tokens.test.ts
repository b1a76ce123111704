/** A refresh token whose successor was stored, but did not reach the client: it is given again, on every node, until it is used. */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import SqliteDatabase from 'better-sqlite3'
import { sql } from 'kysely'
import { openPlace, type TestPlace } from '../support/engines.ts'
import { startGate, type TestGate } from '../support/identity.ts'
import { stopOwnPostgres } from '../support/postgres.ts'
import { startTestServer, type TestServer } from '../support/server.ts'
import { startTcpProxy, type TcpProxy } from '../support/tcp-proxy.ts'
import { until } from '../support/until.ts'

const GRACE = { '--refresh-token-grace': '1' }
const OFFLINE = { scope: 'offline_access Platform/News' }

interface Refreshed {
  readonly status: number
  readonly token: string
  readonly error: string | undefined
}

async function refresh(port: number, token: string, signal?: AbortSignal): Promise<Refreshed> {
  const response = await fetch(`http://localhost:${port}/connect/token`, {
    method: 'POST',
    body: new URLSearchParams({ grant_type: 'refresh_token', client_id: 'cli', refresh_token: token }),
    ...(signal && { signal }),
  })
  const body = (await response.json()) as { refresh_token?: string; error?: string }
  return { status: response.status, token: body.refresh_token ?? '', error: body.error }
}

/** The reuse of a token whose successor was used ends the grant, as always. */
async function assertReuseIsDetected(port: number, token: string, successor: string): Promise<void> {
  const next = await refresh(port, successor)
  assert.equal(next.status, 200)
  assert.equal((await refresh(port, token)).error, 'invalid_grant')
  assert.equal((await refresh(port, next.token)).error, 'invalid_grant')
}

describe('an outage of PostgreSQL during a refresh', () => {
  let place: TestPlace
  let leave: () => Promise<void>
  let proxy: TcpProxy
  /** Has a way to the database that does not break. */
  let gate: TestGate
  let server: TestServer
  before(async () => {
    const opened = await openPlace('postgres')
    place = opened.place
    leave = opened.leave
    gate = await startGate(place, { flags: GRACE })
    const url = new URL(place.databaseUrl)
    proxy = await startTcpProxy(url.hostname, Number(url.port))
    url.port = String(proxy.port)
    server = await startTestServer(
      { ...place, databaseUrl: url.href },
      { flags: { ...GRACE, '--issuer': gate.server.issuer, '--services': 'identity' } },
    )
  })
  after(async () => {
    proxy.mend()
    await server.stop()
    await proxy.close()
    await gate.stop()
    await leave()
    await stopOwnPostgres()
  })

  const ready = async () => (await fetch(`http://localhost:${server.port}/readyz`)).status === 200

  /** Begins `act`, which stores a successor; `meanwhile` runs while that waits for a lock. */
  async function whileLocked<Result>(act: () => Promise<Result>, meanwhile: () => Promise<unknown>): Promise<Result> {
    const { db } = gate.database
    let acting: Promise<Result> | undefined
    await db.transaction().execute(async (transaction) => {
      await sql`lock table refresh_tokens in share mode`.execute(transaction)
      acting = act()
      acting.catch(() => {})
      await until('the successor waits for the lock', 5000, async () => {
        const { rows } = await sql`select 1 from pg_locks where not granted`.execute(db)
        return rows.length > 0
      })
      await meanwhile()
    })
    assert.ok(acting)
    return acting
  }

  const isStored = (count: number) =>
    until('the successor is stored', 5000, async () => {
      const { rows } = await sql<{ n: string }>`select count(*) as n from refresh_tokens`.execute(gate.database.db)
      return Number(rows[0]?.n) === count
    })
  const stored = async () => (await gate.database.db.selectFrom('refresh_tokens').select('digest').execute()).length

  test('a successor that was committed unseen is given again, by each node, and reuse is still detected', async () => {
    await until('the server is ready', 5000, ready)
    const { refresh_token: token } = await gate.signIn(OFFLINE)
    const before = await stored()
    const lost = await whileLocked(
      () => refresh(server.port, token),
      async () => proxy.holdReplies(),
    )
    assert.equal(lost.status, 503)
    await isStored(before + 1)
    proxy.mend()
    await until('the server is ready', 10_000, ready)
    await sleep(1100)
    const again = await refresh(gate.server.port, token)
    assert.equal(again.status, 200, again.error)
    assert.equal((await refresh(server.port, token)).token, again.token)
    await assertReuseIsDetected(server.port, token, again.token)
  })

  test('a client that left before the reply gets the same successor later; one that had the reply does not', async () => {
    await until('the server is ready', 5000, ready)
    const { refresh_token: token } = await gate.signIn(OFFLINE)
    const before = await stored()
    const leaving = new AbortController()
    await whileLocked(
      () => refresh(server.port, token, leaving.signal).catch(() => undefined),
      async () => {
        leaving.abort()
        await sleep(200)
      },
    )
    await isStored(before + 1)
    await sleep(1100)
    const again = await refresh(server.port, token)
    assert.equal(again.status, 200, again.error)
    await assertReuseIsDetected(server.port, token, again.token)

    const { refresh_token: other } = await gate.signIn(OFFLINE)
    assert.equal((await refresh(server.port, other)).status, 200)
    await sleep(1100)
    assert.equal((await refresh(server.port, other)).error, 'invalid_grant')
  })
})

test('on SQLite, a client that left while the database was locked gets the same successor later', async (t) => {
  const { place, leave } = await openPlace('sqlite')
  const gate = await startGate(place, { flags: GRACE })
  t.after(async () => {
    await gate.stop()
    await leave()
  })
  const { refresh_token: token } = await gate.signIn(OFFLINE)
  const other = new SqliteDatabase(`${place.dataFolder}/identity.db`)
  other.exec('begin immediate')
  const leaving = new AbortController()
  const lost = refresh(gate.server.port, token, leaving.signal).catch(() => 'left')
  await sleep(300)
  leaving.abort()
  assert.equal(await lost, 'left')
  other.exec('rollback')
  other.close()
  const stored = () => gate.database.db.selectFrom('refresh_tokens').select('digest').execute()
  await until('the successor is stored', 5000, async () => (await stored()).length === 2)
  await sleep(1100)
  const again = await refresh(gate.server.port, token)
  assert.equal(again.status, 200, again.error)
  await assertReuseIsDetected(gate.server.port, token, again.token)
})
