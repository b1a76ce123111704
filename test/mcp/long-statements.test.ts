/** Long statements of agents are planned in turns, as those of others are: the event loop serves others meanwhile. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { Statements } from '../../packages/server/src/mcp/tools/statements.ts'
import { CALLERS, type QueryServer, startQueryServer } from '../query/query-server.ts'
import { onEveryEngine } from '../support/engines.ts'

const RULES = { scans: 'ask', rows: 1_000_000, milliseconds: 10_000 } as const

onEveryEngine('plans of agents', (place) => {
  let server: QueryServer
  before(async () => {
    server = await startQueryServer(place())
    const reply = await server.query('CREATE TABLE numbered (id Integer PRIMARY KEY)')
    assert.equal(reply.status, 200, reply.text)
  })
  after(() => server.stop())

  test('what a watch checks before it reads', async () => {
    const { admin: principal } = CALLERS
    assert.ok(principal !== undefined)
    const statements = new Statements(server.service, 'https://gate.example.com', () => RULES, undefined)
    const ids = Array.from({ length: 1_500 }, (_, id) => id)
    const statement = `SELECT id FROM numbered WHERE id IN (${ids.join(', ')})`
    let turns = 0
    let isDone = false
    const turn = (): void => {
      turns++
      if (!isDone) setImmediate(turn)
    }
    setImmediate(turn)
    const call = { principal, address: '127.0.0.1', requestId: 'long' }
    assert.deepEqual(await statements.listTables(statement, call), ['numbered'])
    isDone = true
    assert.ok(turns > 1, `${turns} turns of the event loop`)
  })
})
