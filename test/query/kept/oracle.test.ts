/** At every moment the rows of a materialized view are those of its query at one commit, over three levels and a change of the clocks. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import pg from 'pg'
import { onEveryEngine } from '../../support/engines.ts'
import { type QueryServer, startQueryServer } from '../query-server.ts'
import { Oracle } from './oracle.ts'

const STEPS = Number(process.env.KEPT_STEPS ?? 60)

onEveryEngine('the oracle of materialized views', (place, engine) => {
  let server: QueryServer
  before(async () => {
    server = await startQueryServer(place())
  })
  after(() => server.stop())

  test('rows are never those of no commit, and never go back', async (t) => {
    const seed = Date.now() % 2 ** 31
    t.diagnostic(`seed ${seed}`)
    const truncate = engine === 'sqlite' ? undefined : () => truncateEvents(place().databaseUrl)
    const oracle = new Oracle([server], seed, truncate)
    await oracle.open()
    for (let step = 1; step <= STEPS; step++) {
      await oracle.step()
      if (step % 20 === 0) await oracle.settle()
    }
    assert.equal(oracle.checked, STEPS)
  })
})

async function truncateEvents(url: string): Promise<void> {
  const client = new pg.Client(url)
  await client.connect()
  try {
    await client.query('TRUNCATE gatehouse_data.events')
  } finally {
    await client.end()
  }
}
