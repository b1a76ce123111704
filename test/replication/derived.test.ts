/**
 * What a server derives from rows, brought back as of an earlier moment and as of the last: column segments, materialized views, copies for
 * delayed licences, and alerts. Each is a function of the restored rows, and goes on from there.
 */
import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, type TestContext, test } from 'node:test'
import { leaveRequest } from '../../packages/server/src/replication/spool/requests.ts'
import { readStatus } from '../../packages/server/src/replication/spool/status.ts'
import { AlertClient } from '../alerts/alert-client.ts'
import { type LicenceServer, startLicenceServer } from '../licences/licence-server.ts'
import { type TablePlace, tablePlace } from '../licences/tables/table-licences.ts'
import { onEveryEngine, type TestPlace } from '../support/engines.ts'
import { createPostgresDatabase } from '../support/postgres.ts'
import { runGatehouse } from '../support/process.ts'
import { BACKUP_KEY } from '../support/replicated-folder.ts'
import { until } from '../support/until.ts'
import { startReceiver, type WebhookReceiver } from '../support/webhook-receiver.ts'

const KEY = BACKUP_KEY.toString('base64')
const DELAY_S = 8
const DAY = 86_400_000
const DECLARED = `
products:
  - { name: NYSE, delay: ${DELAY_S} seconds, covers: [{ table: ticks }] }
entitlements:
  - { product: NYSE, user: alice, access: delayed }
  - { product: NYSE, user: admin, access: realtime }
  - { product: NYSE, client: handler, access: realtime, kind: exempt }
`
const BARS = `SELECT symbol, time_bucket('1 hour', at) AS bar, sum(qty) AS volume, count(*) AS n FROM deals GROUP BY symbol, bar`
const ALERT = {
  ...{ name: 'Level', statement: 'SELECT id, level FROM levels', when: 'level > 10' },
  ...{ group: '0 seconds', channels: ['hook'] },
}

let scratch: string
let receiver: WebhookReceiver
before(async () => {
  scratch = await mkdtemp(join(tmpdir(), 'gatehouse-derived-'))
  receiver = await startReceiver()
})
after(async () => {
  await receiver.stop()
  await rm(scratch, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 })
})

onEveryEngine('what is derived from rows', (source, engine) => {
  /** A first column segment needs 32,768 rows. */
  const trades = engine === 'sqlite' ? 40_000 : 5_000
  let url: string
  /** Before the last changes. */
  let earlier: number
  /** When the last tick was inserted. */
  let insertedAt: number
  /** The alert, and the ids of its notices. */
  let alert: string
  let held: string
  let sentBefore: readonly string[]

  const start = (place: TestPlace, to: string) =>
    startLicenceServer(place, DECLARED, {
      // The statements are judged by their rows, also on a busy machine.
      flags: { '--backup-url': to, '--backup-key': KEY, '--backup-every': '0.2', '--query-seconds': '240' },
    })
  const must = async (place: TablePlace, ...statements: readonly string[]) => {
    for (const statement of statements) {
      const { status, body } = await place.query(statement, place.server.admin)
      assert.equal(status, 200, `${statement}: ${JSON.stringify(body)}`)
    }
  }
  const ask = (place: TablePlace, statement: string) => place.rows(statement, place.server.admin)
  const setLevel = (place: TablePlace, id: number, level: number) =>
    must(
      place,
      `INSERT INTO levels (id, level) VALUES (${id}, ${level}) ON CONFLICT (id) DO UPDATE SET level = excluded.level`,
    )
  const ofAlert = () => receiver.received.filter(({ body }) => body.data.alert === alert)

  /** Until everything of now can be restored: on PostgreSQL a dump is asked for. Returns a moment at which it could. */
  async function captured(dataFolder: string): Promise<number> {
    const now = Date.now()
    if (engine === 'postgres') leaveRequest(dataFolder, 'take')
    await until('everything of now is stored', 60_000, () => {
      const { at = 0, moment = 0, base, behindSince } = readStatus(dataFolder) ?? {}
      if (engine === 'postgres') return moment > now
      return base !== undefined && (moment > now || (at > now && behindSince === undefined))
    })
    return Date.now()
  }

  async function restored(t: TestContext, at?: number): Promise<TablePlace> {
    const folder = await mkdtemp(join(scratch, 'restored-'))
    const database = engine === 'postgres' ? await createPostgresDatabase() : undefined
    const place = { engine, dataFolder: join(folder, 'data'), databaseUrl: database?.url ?? '' }
    const where = ['--data', place.dataFolder, ...(database === undefined ? [] : ['--database-url', database.url])]
    const when = at === undefined ? [] : ['--at', new Date(at).toISOString()]
    const { status, stderr } = await runGatehouse(['restore', url, '--backup-key', KEY, ...where, ...when])
    assert.equal(status, 0, stderr)
    // Beside the first one it would be a second machine, of which restores ask which is meant.
    const server = await start(place, `${url}-of-the-restored`)
    t.after(async () => {
      await server.stop()
      await database?.drop()
    })
    return tablePlace(server)
  }

  test('rows are written, and a moment is captured before the last of them', async (t) => {
    url = `file://${join(scratch, `target-${engine}`)}`
    let server: LicenceServer | undefined = await start(source(), url)
    t.after(() => server?.stop())
    const place = tablePlace(server)
    const client = await AlertClient.signIn(server)
    await client.declareChannel('hook', `${receiver.origin}/hook`)
    const open = "READ SCOPE 'Platform/Market' WRITE SCOPE 'Platform/Market'"
    await must(
      place,
      `CREATE TABLE deals (id Integer PRIMARY KEY, symbol Text NOT NULL, at Timestamp NOT NULL, qty Integer NOT NULL)${
        engine === 'sqlite' ? ' WITH (columns = on)' : ''
      }`,
      'CREATE INDEX deals_symbol ON deals (symbol, at)',
      'CREATE INDEX deals_at ON deals (at)',
      `CREATE TABLE ticks (id Integer PRIMARY KEY, price Integer NOT NULL) ${open}`,
      `CREATE TABLE levels (id Integer PRIMARY KEY, level Integer NOT NULL) ${open}`,
    )
    await insertTrades(server)
    await must(
      place,
      `CREATE MATERIALIZED VIEW bars AS ${BARS}`,
      'REFRESH MATERIALIZED VIEW bars',
      `ALTER TABLE deals SET WITH (retention = '30 days' ON at)`,
    )
    assert.equal((await place.admin('POST', '/retention/deals/run')).status, 200)
    assert.deepEqual(await ask(place, "SELECT count(*) AS n FROM deals WHERE symbol = 'OLD'"), [[0]])
    if (engine === 'sqlite') await segmented(place)

    const { id } = await client.create(ALERT)
    alert = id
    await until('it is watched', 10_000, async () => (await client.get(id)).watched !== null)
    await setLevel(place, 1, 11)
    await until('the notice has come', 10_000, () => ofAlert().length === 1)
    // The next one is refused: it waits when the moment is captured.
    receiver.answer((_request, response) => response.writeHead(503).end())
    await setLevel(place, 2, 12)
    await until('it was tried', 10_000, () => ofAlert().length === 2)
    held = ofAlert()[1]?.headers['webhook-id'] ?? ''
    await until('the copy can be read', DELAY_S * 1_000 + 10_000, async () => {
      return (await place.query('SELECT id FROM ticks')).status === 200
    })
    await must(place, 'INSERT INTO ticks VALUES (1, 1)')
    earlier = await captured(source().dataFolder)

    receiver.answer((_request, response) => response.writeHead(204).end())
    await until('what waited was sent', 60_000, () => ofAlert().length >= 3)
    await setLevel(place, 1, 1)
    await until('the end was sent', 10_000, () => ofAlert().length >= 4)
    await must(
      place,
      "UPDATE deals SET qty = qty + 1 WHERE symbol = 'A'",
      `INSERT INTO deals VALUES (1000000, 'B', '${new Date().toISOString()}', 7)`,
      'REFRESH MATERIALIZED VIEW bars',
      'INSERT INTO ticks VALUES (2, 2)',
    )
    insertedAt = Date.now()
    await captured(source().dataFolder)
    sentBefore = ofAlert().map(({ headers }) => headers['webhook-id'] ?? '')
    await server.stop()
    server = undefined
    receiver.received.length = 0
  })

  test('the last moment: nothing is younger for a delayed caller than its licence says, and nothing is sent again', async (t) => {
    const place = await restored(t)
    const first = await place.query('SELECT id FROM ticks ORDER BY id')
    // The first one is old enough or not, by how long the restore took.
    if (Date.now() < insertedAt + DELAY_S * 1_000 && first.status === 200)
      assert.ok(
        first.body.Rows.every(([id]: [number]) => id === 1),
        JSON.stringify(first.body.Rows),
      )
    const written = Date.now()
    await must(place, 'INSERT INTO ticks VALUES (3, 3)')
    await until('the rows are there after the delay', DELAY_S * 2_000 + 5_000, async () => {
      const { status, body } = await place.query('SELECT id FROM ticks ORDER BY id')
      const isSeen = status === 200 && JSON.stringify(body.Rows) === '[[1],[2],[3]]'
      if (isSeen) assert.ok(Date.now() >= written + DELAY_S * 1_000, 'too early')
      return isSeen
    })
    await assertDerived(place, trades + 1)
    assert.deepEqual(ofAlert(), [])
    await setLevel(place, 2, 2)
    await until('the end was sent', 30_000, () => ofAlert().length === 1)
    const [end] = ofAlert()
    assert.equal(end?.body.type, 'alert.resolved')
    assert.ok(!sentBefore.includes(end?.headers['webhook-id'] ?? ''))
  })

  test('an earlier moment: all of it is of then, and what waited then is not sent', async (t) => {
    receiver.received.length = 0
    const place = await restored(t, earlier)
    await assertDerived(place, trades)
    assert.deepEqual(await ask(place, 'SELECT id FROM ticks ORDER BY id'), [[1]])
    // Both fire still, as then. What waits in a lane leaves in order: if it had been kept, it would be the first.
    await setLevel(place, 1, 1)
    await until('the end was sent', 30_000, () => ofAlert().length > 0)
    const [end] = ofAlert()
    assert.notEqual(end?.headers['webhook-id'], held)
    assert.equal(end?.body.type, 'alert.resolved')
    assert.deepEqual(end?.body.data.instances[0].key, [1])
    assert.ok(!sentBefore.includes(end?.headers['webhook-id'] ?? ''))
  })

  /** A hundred old ones, and the others of the last hours. */
  async function insertTrades({ url: origin, admin }: LicenceServer): Promise<void> {
    const now = Date.now()
    const lines = Array.from({ length: trades + 100 }, (_trade, id) => {
      const isOld = id < 100
      const at = new Date(isOld ? now - 40 * DAY - id * 1_000 : now - (trades + 100 - id) * 500).toISOString()
      return JSON.stringify({ id, symbol: isOld ? 'OLD' : id % 2 === 0 ? 'A' : 'B', at, qty: (id % 9) + 1 })
    })
    const headers = { authorization: `Bearer ${admin}`, 'content-type': 'application/x-ndjson' }
    const reply = await fetch(`${origin}/query/deals/insert`, { method: 'POST', headers, body: lines.join('\n') })
    assert.equal(reply.status, 200, await reply.text())
  }

  async function segmented(place: TablePlace): Promise<void> {
    await until('there are column segments', 60_000, async () => {
      const { body } = await place.admin('GET', '/columns')
      const found = body.items.find(({ table }: { table: string }) => table === 'deals')
      return found.ready > 0 && found.missing === 0 && found.marked === 0
    })
    const { body } = await place.admin('POST', '/columns/deals/verify')
    assert.ok(body.equal > 0, JSON.stringify(body))
    assert.equal(body.different, 0)
  }

  /** Views and segments are what their rows say, and follow them; bars that outlived their rows are there. */
  async function assertDerived(place: TablePlace, deals: number): Promise<void> {
    const groups = 'SELECT symbol, sum(qty) AS q, count(*) AS n FROM deals GROUP BY symbol ORDER BY symbol'
    const before = await ask(place, groups)
    assert.equal((await ask(place, 'SELECT count(*) AS n FROM deals'))[0]?.[0], deals)
    const perSymbol = `SELECT symbol, sum(volume) AS q, sum(n) AS n FROM bars WHERE symbol <> 'OLD' GROUP BY symbol ORDER BY symbol`
    await must(place, 'REFRESH MATERIALIZED VIEW bars')
    assert.deepEqual((await ask(place, perSymbol)).map(String), before.map(String))
    assert.deepEqual((await ask(place, "SELECT sum(n) AS n FROM bars WHERE symbol = 'OLD'")).map(String), ['100'])
    const full = await place.query('REFRESH MATERIALIZED VIEW bars FULL', place.server.admin)
    assert.equal(full.body.RowsAffected, 0, JSON.stringify(full.body))
    if (engine === 'sqlite') await segmented(place)
    assert.deepEqual(await ask(place, groups), before)
    await must(
      place,
      "UPDATE deals SET qty = qty + 1 WHERE symbol = 'A'",
      `INSERT INTO deals VALUES (2000000, 'C', '${new Date().toISOString()}', 5)`,
      'REFRESH MATERIALIZED VIEW bars',
    )
    assert.deepEqual((await ask(place, perSymbol)).map(String), (await ask(place, groups)).map(String))
  }
})
