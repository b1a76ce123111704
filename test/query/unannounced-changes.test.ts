/** Changes of the catalogue whose node was killed before it could publish an event: the other nodes load them all the same. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { SharedFile } from '../../packages/server/src/store/database/shared-file.ts'
import { onEveryEngine } from '../support/engines.ts'
import { until } from '../support/until.ts'
import { type QueryServer, startQueryServer } from './query-server.ts'

/** Of workers that announce nothing to one another. */
const UNANNOUNCED: SharedFile = { committed() {}, onCommit: () => () => {}, waiting() {}, onWaiting() {} }

onEveryEngine('changes of the catalogue without an event', (place) => {
  let changing: QueryServer
  let other: QueryServer
  before(async () => {
    // Each has an event bus of its own.
    other = await startQueryServer(place(), { shared: UNANNOUNCED })
    changing = await startQueryServer(place(), { shared: UNANNOUNCED })
  })
  after(() => Promise.all([changing.stop(), other.stop()]))
  const change = async (statement: string): Promise<void> => {
    const reply = await changing.query(statement)
    assert.equal(reply.status, 200, reply.text)
  }

  test('another node loads a new table, a new column, and that it is gone', async () => {
    await change('CREATE TABLE quotes (id Integer PRIMARY KEY)')
    await until('it has the table', 5000, async () => (await other.query('SELECT id FROM quotes')).status === 200)
    await change('ALTER TABLE quotes ADD COLUMN bid Integer')
    await until('it has the column', 5000, async () => (await other.query('SELECT bid FROM quotes')).status === 200)
    await change('DROP TABLE quotes')
    await until('it has no table', 5000, async () => (await other.query('SELECT id FROM quotes')).status !== 200)
  })

  test('the keeper goes on with the views of a table that was altered', async () => {
    await change('CREATE TABLE trades (id Integer PRIMARY KEY, symbol Text NOT NULL, quantity Integer NOT NULL)')
    await change('CREATE INDEX trades_symbol ON trades (symbol)')
    const view = 'CREATE MATERIALIZED VIEW totals AS SELECT symbol, sum(quantity) AS q FROM trades GROUP BY symbol'
    await until('it has the index', 5000, async () => (await other.query(view)).status === 200)
    assert.ok(other.service.keeper.isHolding)
    await until('it has the view', 5000, async () => (await changing.query('SELECT q FROM totals')).status === 200)
    await change('ALTER TABLE trades ADD COLUMN note Text')
    await change("INSERT INTO trades (id, symbol, quantity) VALUES (1, 'A', 5)")
    const refreshed = await changing.query('REFRESH MATERIALIZED VIEW totals')
    assert.equal(refreshed.status, 200, refreshed.text)
    assert.deepEqual((await changing.query('SELECT * FROM totals')).json.Rows, [{ symbol: 'A', q: '5' }])
  })
})
