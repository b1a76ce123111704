/**
 * Floods what anybody can call from one address: `node fuzz/anonymous-flood.ts [sqlite,postgres] [rounds] [requests per second]`.
 * Prints the rows and bytes that are stored, and how long a sign-in from another address takes without and during the flood.
 * The rate limits are raised for it; those by default allow one address 20 pages and 20 token requests a second.
 */
import assert from 'node:assert/strict'
import { mkdtemp, readdir, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'kysely'
import { readAuditPage } from '../packages/server/src/store/audit/read.ts'
import { verifyAuditLog } from '../packages/server/src/store/audit/verify.ts'
import { OPEN_ROWS } from '../packages/server/src/store/authorizations/open-rows.ts'
import { type Database, openDatabase } from '../packages/server/src/store/database/database.ts'
import { ALICE } from '../test/support/demo-user.ts'
import { createPostgresDatabase, stopOwnPostgres } from '../test/support/postgres.ts'
import { type RunningProcess, serveProcess } from '../test/support/process.ts'
import { createUserAgent, requirePage } from '../test/support/user-agent.ts'
import { signIn } from '../test/support/visitor.ts'

const FLOODER = '203.0.113.66'
const VISITOR = '198.51.100.7'
const UNLIMITED = 'address=1000000/60'
const BURSTS = 4
const BURST = 2000
/** Kinds of refusals in the flood: each has ten rows, and then one every ten minutes. */
const KINDS = 6

const ASKED = {
  client_id: 'demo-web',
  redirect_uri: 'http://localhost:5090/callback',
  response_type: 'code',
  scope: 'openid',
}
const FLOOD: readonly (readonly [path: string, form: (index: number) => Readonly<Record<string, string>>])[] = [
  ['/connect/authorize', () => ({ ...ASKED, state: 'x'.repeat(4096) })],
  ['/connect/authorize', () => ({ ...ASKED, state: 'x'.repeat(60_000) })],
  ['/connect/endsession', () => ({ client_id: 'demo-web', state: 'x'.repeat(4096) })],
  ['/connect/deviceauthorization', () => ({ client_id: 'demo-device' })],
  ['/connect/token', (index) => ({ grant_type: 'client_credentials', client_id: `nobody-${index}` })],
  ['/connect/token', (index) => ({ grant_type: `g${index}`, client_id: 'demo-cli' })],
  [
    '/connect/token',
    (index) => ({ grant_type: 'password', client_id: 'demo-cli', username: `n${index}`, password: 'x' }),
  ],
]

/** Requests of all kinds in turn. */
class Flood {
  readonly #issuer: string
  readonly #open = new Set<Promise<unknown>>()
  sent = 0

  constructor(issuer: string) {
    this.#issuer = issuer
  }

  /** As many as the server answers. */
  async burst(requests: number): Promise<void> {
    for (const end = this.sent + requests; this.sent < end; ) {
      if (this.#open.size >= 32) await Promise.race(this.#open)
      this.#send()
    }
    await Promise.all(this.#open)
  }

  /** At a steady rate, however long the replies take. */
  async steadily(perSecond: number, signal: AbortSignal): Promise<void> {
    const [began, first] = [performance.now(), this.sent]
    while (!signal.aborted) {
      const due = first + ((performance.now() - began) / 1000) * perSecond
      while (this.sent < due && this.#open.size < 500) this.#send()
      await sleep(5)
    }
    await Promise.all(this.#open)
  }

  #send(): void {
    const [path, form] = FLOOD[this.sent % FLOOD.length] ?? ['', () => ({})]
    const request = fetch(this.#issuer + path, {
      method: 'POST',
      body: new URLSearchParams(form(this.sent)),
      headers: { 'x-forwarded-for': FLOODER },
      redirect: 'manual',
    })
      .then((reply) => reply.arrayBuffer())
      .catch(() => {})
      .finally(() => this.#open.delete(request))
    this.#open.add(request)
    this.sent += 1
  }
}

/** The milliseconds of sign-ins in new browsers, one after the other. */
async function signInFor(milliseconds: number, issuer: string): Promise<number[]> {
  const took: number[] = []
  for (const end = performance.now() + milliseconds; performance.now() < end; ) {
    const agent = createUserAgent({ home: issuer, headers: { 'x-forwarded-for': VISITOR } })
    const began = performance.now()
    const page = requirePage(await agent.get('/account'))
    const end = requirePage(await signIn(agent, page, ALICE))
    took.push(performance.now() - began)
    assert.deepEqual([end.status, end.url.pathname], [200, '/account'])
  }
  return took
}

async function stored({ db, engine }: Database, folder: string): Promise<Record<string, number>> {
  const rows = async (table: 'interactions' | 'device_codes' | 'audit_log' | 'throttles') =>
    Number((await sql<{ n: number }>`select count(*) as n from ${sql.table(table)}`.execute(db)).rows[0]?.n)
  const bytes = await sql<{ n: number }>`select coalesce(sum(length(details)), 0) as n from interactions`.execute(db)
  return {
    interactions: await rows('interactions'),
    'their KiB': Math.round(Number(bytes.rows[0]?.n) / 1024),
    'device codes': await rows('device_codes'),
    'audit rows': await rows('audit_log'),
    throttles: await rows('throttles'),
    'on disk KiB': Math.round((await measureSize({ db, engine }, folder)) / 1024),
  }
}

async function measureSize({ db, engine }: Pick<Database, 'db' | 'engine'>, folder: string): Promise<number> {
  if (engine === 'postgres') {
    const size = await sql<{ n: number }>`select pg_database_size(current_database()) as n`.execute(db)
    return Number(size.rows[0]?.n)
  }
  const files = (await readdir(folder)).filter((name) => name.startsWith('identity.db'))
  const sizes = await Promise.all(files.map(async (name) => (await stat(join(folder, name))).size))
  return sizes.reduce((sum, size) => sum + size, 0)
}

const at = (times: readonly number[], share: number): number =>
  Math.round([...times].sort((a, b) => a - b)[Math.floor(times.length * share)] ?? 0)

async function attack(
  server: RunningProcess,
  database: Database,
  folder: string,
  { rounds, perSecond }: { readonly rounds: number; readonly perSecond: number },
): Promise<void> {
  const samples: Record<string, Record<string, number>> = { before: await stored(database, folder) }
  const flood = new Flood(server.issuer)
  for (let part = 1; part <= BURSTS; part++) {
    await flood.burst(BURST)
    samples[`burst ${part}`] = { requests: flood.sent, ...(await stored(database, folder)) }
  }
  await signInFor(1000, server.issuer)
  const [alone, beside]: [number[], number[]] = [[], []]
  // In turns, since other work of the machine changes too.
  for (let round = 1; round <= rounds; round++) {
    alone.push(...(await signInFor(1000, server.issuer)))
    const stop = new AbortController()
    const flooding = flood.steadily(perSecond, stop.signal)
    beside.push(...(await signInFor(1000, server.issuer)))
    stop.abort()
    await flooding
    samples[`round ${round}`] = { requests: flood.sent, ...(await stored(database, folder)) }
  }
  console.table(samples)
  const times = (of: readonly number[]) => ({ 'sign-ins': of.length, p50: at(of, 0.5), p90: at(of, 0.9) })
  console.table({ alone: times(alone), beside: times(beside) })
  const { interactions = 0, 'device codes': codes = 0 } = await stored(database, folder)
  const most = OPEN_ROWS.network * 1.1
  assert.ok(interactions <= most && codes <= most, 'more rows than the limits allow')
  const refused = (await readAuditPage(database.db, { address: FLOODER }, { limit: 1000 })).length
  assert.ok(refused <= KINDS * 11, `${refused} audit rows of the address that floods`)
  assert.deepEqual((await verifyAuditLog(database)).faults, [])
  assert.ok(at(beside, 0.5) <= 2 * at(alone, 0.5), 'sign-ins of others take more than twice as long')
}

async function main(engine: string, rate: { readonly rounds: number; readonly perSecond: number }): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'gatehouse-flood-'))
  const created = engine === 'postgres' ? await createPostgresDatabase() : undefined
  const place = ['--data', folder, ...(created === undefined ? [] : ['--database-url', created.url])]
  const limits = ['--limit-pages', UNLIMITED, '--limit-token', UNLIMITED, '--trusted-proxies', '127.0.0.1,::1']
  const server = await serveProcess(['--demo', ...limits, ...place])
  try {
    const database = await openDatabase({ dataFolder: folder, url: created?.url ?? '' })
    console.log(
      `${engine}: ${BURSTS * BURST} requests, then ${rate.perSecond} a second beside sign-ins of somebody else`,
    )
    await attack(server, database, folder, rate).finally(() => database.close())
  } finally {
    await server.stop()
    await created?.drop()
    await rm(folder, { recursive: true, force: true })
  }
}

const [engines = 'sqlite,postgres', rounds = '10', perSecond = '40'] = process.argv.slice(2)
for (const engine of engines.split(',')) await main(engine, { rounds: Number(rounds), perSecond: Number(perSecond) })
await stopOwnPostgres()
