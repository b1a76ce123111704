/** Materialized views on two nodes of one database: either writes and reads, one keeps, and the other goes on when it stops or is suspended. */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import pg from 'pg'
import { openPlace, type TestPlace } from '../../support/engines.ts'
import { createLocalBus } from '../../support/local-bus.ts'
import { stopOwnPostgres } from '../../support/postgres.ts'
import { until } from '../../support/until.ts'
import { type QueryServer, startQueryServer } from '../query-server.ts'
import { Oracle } from './oracle.ts'

describe('materialized views on two nodes', () => {
  let place: TestPlace
  let leave: () => Promise<void>
  let nodes: QueryServer[]
  let oracle: Oracle
  before(async () => {
    const opened = await openPlace('postgres')
    place = opened.place
    leave = opened.leave
    const bus = createLocalBus()
    nodes = [await startQueryServer(place, { bus }), await startQueryServer(place, { bus })]
    oracle = new Oracle(nodes, Date.now() % 2 ** 31)
    await oracle.open()
  })
  after(async () => {
    await Promise.all(nodes.map((node) => node.stop()))
    await leave()
    await stopOwnPostgres()
  })

  const keepers = (): QueryServer[] => nodes.filter(({ service }) => service.keeper.isHolding)
  const steps = async (count: number): Promise<void> => {
    for (let step = 0; step < count; step++) await oracle.step()
  }

  test('rows are those of the query at one commit, whichever node writes and reads', async () => {
    assert.equal(keepers().length, 1)
    await steps(20)
    await oracle.settle()
  })

  test('when the keeper stops, the other keeps the views, without a build', async () => {
    const [keeper] = keepers()
    const builds = (await nodes[0]?.service.views.find('minutes'))?.builds
    nodes = nodes.filter((node) => node !== keeper)
    oracle.use(nodes)
    await Promise.all([keeper?.stop(), steps(10)])
    await until('the other is the keeper', 10_000, () => keepers().length === 1)
    await steps(5)
    await oracle.run('REFRESH MATERIALIZED VIEW days')
    assert.equal((await nodes[0]?.service.views.find('minutes'))?.builds, builds)
    await oracle.settle()
  })

  test('a keeper whose term was taken writes nothing', async () => {
    const client = new pg.Client(place.databaseUrl)
    await client.connect()
    // As if another node were the keeper: this one does not know it before it writes, or renews its term.
    await client.query(
      `UPDATE gatehouse_data._gh_keeper SET epoch = epoch + 1, node = 'another', until = (extract(epoch from clock_timestamp()) * 1000)::bigint + 4000`,
    )
    const position = async () =>
      (await client.query(`SELECT position, rows FROM gatehouse_data._gh_views WHERE key = 'minutes'`)).rows[0]
    const before = await position()
    await steps(3)
    await until('it knows', 5000, () => keepers().length === 0)
    assert.deepEqual(await position(), before)
    await until('it is the keeper again', 10_000, () => keepers().length === 1)
    await client.end()
    await oracle.settle()
  })
})
