/** The recipes of docs/views.md, as they are written there: they can be run, and the views equal their queries. */
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { root } from '../../support/clone.ts'
import { onEveryEngineInLongRuns } from '../../support/engines.ts'
import { type QueryServer, startQueryServer } from '../query-server.ts'

const STARTS = /^(?=CREATE |ALTER |SELECT time_bucket_gapfill)/m

onEveryEngineInLongRuns('recipes of materialized views', (place) => {
  let server: QueryServer
  before(async () => {
    server = await startQueryServer(place())
  })
  after(() => server.stop())

  const must = async (statement: string) => {
    const reply = await server.query(statement)
    assert.equal(reply.status, 200, `${statement}: ${reply.text}`)
    return reply.json
  }

  test('each can be run, and follows its table', async () => {
    const page = await readFile(join(root, 'docs/views.md'), 'utf8')
    const recipes = page.slice(page.indexOf('## Recipes'))
    const blocks = [...recipes.matchAll(/```sql\n(.*?)```/gs)].map(([, block = '']) => block)
    assert.ok(blocks.length >= 9)
    const statements = blocks.flatMap((block) => block.split(STARTS)).filter((text) => text.trim() !== '')
    const views: string[] = []
    for (const statement of statements.filter((text) => !text.startsWith('SELECT'))) {
      await must(statement)
      const [, view] = /^CREATE MATERIALIZED VIEW (\w+)/.exec(statement) ?? []
      if (view !== undefined) views.push(view)
    }
    assert.equal(views.length, 7)
    const now = Date.now()
    const at = (hours: number) => new Date(now - hours * 3_600_000).toISOString()
    for (let id = 0; id < 20; id++) {
      const symbol = ['A', 'B'][id % 2]
      await must(`INSERT INTO fx_trades VALUES (${id}, '${symbol}', 'buy', ${id + 0.5}, ${id + 1}, '${at(id * 7)}')`)
      await must(`INSERT INTO conditions VALUES (${id}, 'd${id % 2}', '${at(id * 7)}', ${id / 4})`)
    }
    await must('DELETE FROM fx_trades WHERE id = 3')
    await must('UPDATE conditions SET temperature = 30 WHERE id = 4')
    for (const view of views) {
      await must(`REFRESH MATERIALIZED VIEW ${view}`)
      assert.ok((await must(`SELECT * FROM ${view}`)).Rows.length > 0, view)
      assert.equal((await must(`REFRESH MATERIALIZED VIEW ${view} FULL`)).RowsAffected, 0, view)
    }
    for (const statement of statements.filter((text) => text.startsWith('SELECT')))
      assert.equal((await must(statement)).Rows.length, 3)
  })
})
