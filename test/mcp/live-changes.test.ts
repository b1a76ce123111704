/** What agents read of a live result: as much as they show of it, however many rows it has. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { SubscriberSink } from 'gatehouse-protocol'
import { readLiveChanges } from '../../packages/server/src/mcp/watches/live-changes.ts'
import type { LiveMessage, LiveRequest } from '../../packages/server/src/query/live/contract.ts'
import { CALLERS, type QueryServer, startQueryServer } from '../query/query-server.ts'
import { onEveryEngine } from '../support/engines.ts'

const ROWS = 20_000
const BUDGET = { rows: 200, changes: 1_000, bytes: 32 * 1024 }
const STATEMENT = { statement: 'SELECT id, t FROM lines', parameters: {} }

onEveryEngine('live results of agents', (place) => {
  let server: QueryServer
  before(async () => {
    server = await startQueryServer(place())
    await run('CREATE TABLE lines (id Integer PRIMARY KEY, t Text NOT NULL)')
    await run(`INSERT INTO lines SELECT i, repeat('t', 100) FROM generate_series(1, ${ROWS}) AS i`)
  })
  after(() => server.stop())

  async function run(statement: string): Promise<void> {
    const reply = await server.query(statement)
    assert.equal(reply.status, 200, reply.text)
  }

  /** The messages that were sent, too. Those that `isNeeded` denies have lost their text: nobody can parse it. */
  async function read(
    resume: string | undefined,
    isNeeded: (message: LiveMessage, index: number) => boolean = () => true,
    budget = BUDGET,
  ) {
    const { admin: principal } = CALLERS
    assert.ok(principal !== undefined)
    const sent: LiveMessage[] = []
    const live = {
      subscribe: (request: LiveRequest, sink: SubscriberSink<LiveMessage>) =>
        server.service.live.subscribe(request, {
          maySend: true,
          send(message) {
            sent.push(message)
            sink.send(isNeeded(message, sent.length - 1) ? message : { ...message, text: '' })
          },
          end: (reason) => sink.end(reason),
        }),
    }
    const { signal } = new AbortController()
    const caller = { principal, address: '127.0.0.1', signal }
    const changes = await readLiveChanges(live, STATEMENT, { resume, budget }, caller, Promise.resolve(), (first) =>
      first(signal),
    )
    return { sent, changes }
  }

  test('of a whole result the rows that are shown are sent, and one more', async () => {
    const { sent, changes } = await read(undefined)
    assert.equal(sent.length, 1)
    assert.deepEqual(changes.counts, { put: 201, remove: 0 })
    assert.ok(changes.put.length >= 200 && changes.columns?.length === 2)
    const { changes: all } = await read(undefined, undefined, { ...BUDGET, rows: ROWS })
    assert.equal(all.counts.put, ROWS)
    assert.ok(all.put.length < 1_000, 'what does not fit is not parsed')
  })

  test('of many changes those that are shown are parsed, and all are counted', async () => {
    const { changes: before } = await read(undefined)
    await run("UPDATE lines SET t = repeat('u', 100) WHERE id <= 5000")
    await run('DELETE FROM lines WHERE id > 19000')
    const { sent, changes } = await read(before.position, ({ removed }, index) => index === 0 || removed > 0)
    assert.ok(sent.length > 3, `${sent.length} pieces`)
    assert.equal(changes.columns, undefined)
    assert.deepEqual(changes.counts, { put: 5_000, remove: 1_000 })
    assert.ok(changes.put.length >= 200 && changes.put.length <= 1_000, `${changes.put.length}`)
    assert.equal(changes.remove.length, 1_000)
    const { changes: after } = await read(changes.position)
    assert.deepEqual(after.counts, { put: 0, remove: 0 })
  })
})
