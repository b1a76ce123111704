/** Delayed tables against an oracle: whatever is written, each answer is what both tables had at its `AsOf`, also in a join. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { onEveryEngine } from '../../support/engines.ts'
import type { WireSession } from '../../support/wire-session.ts'
import { startLicenceServer } from '../licence-server.ts'
import { createRandom } from '../simulation/simulation.ts'
import { type TablePlace, tablePlace } from './table-licences.ts'

const DELAY_MS = 1_000
/** How much older than its time a state may be: marks are written four times a second, on a busy machine later. */
const MARK_MS = 5_000
const COMMITS = 150
const SEED = Number(process.env.LICENCE_SEED ?? 1)
const DECLARED = `
products:
  - { name: PART, delay: 1 second, covers: [{ table: ticks, column: venue, values: [XA] }] }
  - { name: ALL, delay: 1 second, covers: [{ table: depth }] }
entitlements:
  - { product: PART, user: alice, access: delayed }
  - { product: ALL, user: alice, access: delayed }
  - { product: PART, client: handler, access: realtime, kind: exempt }
  - { product: ALL, client: handler, access: realtime, kind: exempt }
`
const READ = `SELECT 'ticks' AS t, id, venue, n, note FROM ticks
  UNION ALL SELECT 'depth', id, venue, n, note FROM depth
  UNION ALL SELECT 'both', t.id, d.venue, t.n + d.n, d.note FROM ticks t JOIN depth d ON d.id = t.id`

interface Row {
  readonly id: number
  readonly venue: string
  readonly n: number
  readonly note: string | null
}

type Tables = Readonly<Record<'ticks' | 'depth', Map<number, Row>>>

interface State {
  readonly begun: number
  readonly ended: number
  readonly text: string
}

/** What a delayed reader has of the tables. */
function show({ ticks, depth }: Tables): string {
  const lines = (table: string, rows: Iterable<Row>) =>
    [...rows].map(({ id, venue, n, note }) => JSON.stringify([table, id, venue, n, note]))
  const both = [...ticks.values()].flatMap(({ id, n }) => {
    const other = depth.get(id)
    return other === undefined ? [] : [{ ...other, n: n + other.n }]
  })
  const all = [...lines('ticks', ticks.values()), ...lines('depth', depth.values()), ...lines('both', both)]
  return all.sort().join('\n')
}

onEveryEngine('delayed tables against an oracle', (at) => {
  let place: TablePlace
  let tool: WireSession
  before(async () => {
    place = tablePlace(
      await startLicenceServer(at(), DECLARED, { flags: { '--wire-port': '0', '--wire-writes': 'true' } }),
    )
    const { admin, handler } = place.server
    for (const name of ['ticks', 'depth']) {
      const { status, body } = await place.query(
        `CREATE TABLE ${name} (id Integer PRIMARY KEY, venue Text NOT NULL, n Integer NOT NULL, note Text)
         READ SCOPE 'Platform/Market' WRITE SCOPE 'Platform/Market'`,
        admin,
      )
      assert.equal(status, 200, JSON.stringify(body))
    }
    tool = await place.wire(handler, 'handler')
  })
  after(async () => {
    tool.close()
    await place.server.stop()
  })

  async function statement(text: string): Promise<void> {
    const { status, body } = await place.query(text, place.server.handler)
    assert.equal(status, 200, `${text}: ${JSON.stringify(body)}`)
  }

  async function bulk(table: string, rows: readonly Row[]): Promise<void> {
    const { status, body } = await place.server.send('POST', `/Query/${table}/Insert?duplicates=replace`, {
      token: place.server.handler,
      body: `${rows.map((row) => JSON.stringify(row)).join('\n')}\n`,
      headers: { 'content-type': 'application/x-ndjson' },
    })
    assert.equal(status, 200, JSON.stringify(body))
  }

  async function block(texts: readonly string[]): Promise<void> {
    for (const text of ['BEGIN', ...texts, 'COMMIT']) {
      const { errors } = await tool.query(text)
      assert.deepEqual(errors, [], text)
    }
  }

  /** One commit of any kind, and what it does to the tables. */
  async function write(tables: Tables, random: (below: number) => number): Promise<void> {
    const name = random(2) === 0 ? 'ticks' : 'depth'
    const table = tables[name]
    const id = random(20)
    const row = (key: number): Row => ({ id: key, venue: 'XA', n: random(1_000), note: random(3) === 0 ? null : 'é' })
    const values = ({ id, venue, n, note }: Row) => `(${id}, '${venue}', ${n}, ${note === null ? 'NULL' : `'${note}'`})`
    const replaced = 'ON CONFLICT (id) DO UPDATE SET n = excluded.n, note = excluded.note'
    switch (random(7)) {
      case 0: {
        await statement(`UPDATE ${name} SET n = n + 1 WHERE id < ${id}`)
        for (const each of table.values()) if (each.id < id) table.set(each.id, { ...each, n: each.n + 1 })
        return
      }
      case 1:
        await statement(`DELETE FROM ${name} WHERE id >= ${id}`)
        for (const key of table.keys()) if (key >= id) table.delete(key)
        return
      case 2: {
        // Other keys.
        await statement(`UPDATE ${name} SET id = id + 100 WHERE id >= ${id} AND id < 100`)
        for (const each of [...table.values()])
          if (each.id >= id && each.id < 100) {
            table.delete(each.id)
            table.set(each.id + 100, { ...each, id: each.id + 100 })
          }
        return
      }
      case 3: {
        const rows = Array.from({ length: 300 }, (_, index) => row(1_000 + index))
        await bulk(name, rows)
        for (const each of rows) table.set(each.id, each)
        return
      }
      case 4: {
        const [one, other] = [row(id), row(id)]
        await block([
          `INSERT INTO ticks (id, venue, n, note) VALUES ${values(one)} ${replaced}`,
          `INSERT INTO depth (id, venue, n, note) VALUES ${values(other)} ${replaced}`,
        ])
        tables.ticks.set(id, one)
        tables.depth.set(id, other)
        return
      }
      default: {
        const one = row(id)
        await statement(`INSERT INTO ${name} (id, venue, n, note) VALUES ${values(one)} ${replaced}`)
        table.set(id, one)
      }
    }
  }

  test(`statements, other keys, bulk inserts and blocks of a tool: each answer was a state, seed ${SEED}`, async (t) => {
    const tables: Tables = { ticks: new Map(), depth: new Map() }
    const random = createRandom(SEED)
    const states: State[] = [{ begun: 0, ended: 0, text: show(tables) }]
    let isOver = false
    const seen = new Set<number>()
    const reading = (async () => {
      for (let last = 0; !isOver; await sleep(20)) {
        const { status, body } = await place.query(READ)
        const read = Date.now()
        if (status === 503) continue
        assert.equal(status, 200, JSON.stringify(body))
        const times: number[] = body.Licence.map(({ AsOf }: { AsOf: string }) => Date.parse(AsOf))
        assert.equal(new Set(times).size, 1, JSON.stringify(body.Licence))
        const [asOf = 0] = times
        assert.ok(asOf <= read - DELAY_MS, `${read - asOf} ms old`)
        const rows: readonly unknown[][] = body.Rows
        const text = rows
          .map((cells) => JSON.stringify(cells))
          .sort()
          .join('\n')
        const oldest = states.findLastIndex(({ ended }) => ended < asOf - MARK_MS)
        const find = () => states.findIndex((state, index) => index >= Math.max(oldest, last) && state.text === text)
        let found = find()
        // The reply to a write may be late.
        for (const end = Date.now() + 10_000; found < 0 && Date.now() < end; found = find()) await sleep(50)
        const state = states[found]
        assert.ok(state, `no state of the tables as of ${asOf}:\n${text.slice(0, 2_000)}`)
        assert.ok(state.begun <= asOf, `a state of ${state.begun - asOf} ms later`)
        last = found
        seen.add(found)
      }
    })()
    try {
      for (let commit = 0; commit < COMMITS; commit++) {
        const begun = Date.now()
        await write(tables, random)
        states.push({ begun, ended: Date.now(), text: show(tables) })
        await sleep(random(60))
        await Promise.race([reading, Promise.resolve()])
      }
      for (const end = Date.now() + 60_000; !seen.has(states.length - 1) && Date.now() < end; )
        await Promise.race([reading, sleep(50)])
    } finally {
      isOver = true
      await reading
    }
    t.diagnostic(`${states.length} states, ${seen.size} of them seen`)
    assert.ok(seen.has(states.length - 1), 'the last state was not seen')
    assert.ok(seen.size >= 10)
  })
})
