/** Which statements can be live, by which method and with which keys; the SQL of the plans, run on both engines. */
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { after, before, test } from 'node:test'
import { parse } from 'gatehouse-iql'
import { Refusal } from 'gatehouse-protocol'
import type { LivePlan } from '../../../packages/server/src/query/plan/live.ts'
import { onEveryEngine, onEveryEngineInLongRuns, shortOnSqlite } from '../../support/engines.ts'
import { readCorpus } from '../corpus.ts'
import { openPlanning, type Planning } from './planning.ts'
import { CLASSIFIED, DEFINITIONS, REFUSED } from './statements.ts'

onEveryEngine('live plans', (place, engine) => {
  let planning: Planning
  before(async () => {
    planning = await openPlanning(place())
    for (const statement of DEFINITIONS) await planning.run(statement)
  })
  after(() => planning.close())

  const listKeys = async (statement: string) => (await planning.whole(statement)).map(({ key }) => key)

  test('every statement has its method, key and reason, and its whole result has the rows of the query', async () => {
    for (const [statement, method, key, reason] of CLASSIFIED) {
      const plan = planning.plan(statement)
      assert.deepEqual([plan.method, plan.keyNames], [method, key], statement)
      assert.match(plan.reason, reason, statement)
      assert.equal(plan.isOrdered, / ORDER BY [^)]*$/.test(statement), statement)
      assert.equal(plan.family === undefined, method !== 'keys', statement)
      const rows = await planning.whole(statement)
      assert.deepEqual(rows.map(({ row }) => row).sort(), (await planning.plain(statement)).sort(), statement)
      if (key === null) continue
      assert.equal(new Set(rows.map((row) => row.key)).size, rows.length, `the keys of ${statement} are unique`)
    }
  })

  test('a statement over a view that only renames and filters costs as much as one over its table', () => {
    const measureCost = (statement: string) => planning.plan(statement).statement.cost
    for (const [view, table] of [
      ['SELECT amount FROM paid WHERE trade = 1', 'SELECT price * quantity AS amount FROM trades WHERE id = 1'],
      ['SELECT * FROM paid AS p WHERE p.trade = :t', 'SELECT symbol FROM trades WHERE id = :t'],
      ['SELECT * FROM (SELECT trade AS t FROM paid) x WHERE t = 1', 'SELECT id FROM trades WHERE id = 1'],
      ["SELECT bid FROM latest WHERE name = 'BHP'", "SELECT bid FROM quotes WHERE symbol = 'BHP'"],
      ['SELECT amount FROM paid WHERE amount = 1', 'SELECT price FROM trades WHERE price = 1'],
      ['SELECT id FROM own WHERE id = 1', 'SELECT id FROM orders WHERE id = 1'],
    ] as const)
      assert.equal(measureCost(view), measureCost(table), view)
    assert.equal(measureCost('SELECT amount FROM paid WHERE trade = 1'), 'point')
    assert.equal(measureCost('SELECT place FROM ranked WHERE id = 1'), 'unbounded')
  })

  test('statements over a view are of the family of those over its table', shortOnSqlite(engine), async () => {
    const ofView = planning.plan("SELECT amount FROM paid WHERE name = 'BHP'").family
    const ofTable = planning.plan(
      "SELECT price * quantity AS a FROM trades WHERE quantity > 0 AND symbol = 'CBA'",
    ).family
    assert.deepEqual([ofView?.table, ofView?.columns], [ofTable?.table, ofTable?.columns])
    const changed = 'SELECT id FROM {orders}'
    // The row filter of the table is evaluated before the conditions over the view.
    await planning.run("INSERT INTO orders VALUES (7, 'admin', 5)")
    const condition = 'SELECT id FROM own WHERE 10 / (divisor - 5) > 0'
    assert.deepEqual(await planning.changes(condition, { changed, as: 'trader' }), [])
    await planning.run('DELETE FROM orders WHERE id = 7')
  })

  test('keys are those of the rows, also when they are not selected', shortOnSqlite(engine), async () => {
    assert.deepEqual(await listKeys('SELECT price FROM trades WHERE price > 100'), ['[3]'])
    assert.deepEqual((await listKeys('SELECT bid FROM quotes')).sort(), [
      '["BHP","2026-01-30T09:59:00Z"]',
      '["CBA","2026-01-30T10:00:30Z"]',
    ])
    assert.deepEqual((await listKeys('SELECT count(*) AS n FROM trades GROUP BY symbol, note')).sort(), [
      '["BHP","block"]',
      '["BHP","open"]',
      '["BHP",null]',
      '["CBA",null]',
    ])
    assert.deepEqual(await listKeys('SELECT count(*) AS n FROM trades WHERE id > 100'), ['[]'])
    assert.equal(planning.plan('SELECT body FROM notes').statement.keyColumns, undefined)
  })

  test('rows that tie are ordered by their keys', shortOnSqlite(engine), async () => {
    assert.deepEqual(await listKeys('SELECT symbol FROM trades ORDER BY symbol'), ['[1]', '[2]', '[4]', '[3]'])
    assert.deepEqual(await listKeys('SELECT symbol FROM trades ORDER BY symbol DESC'), ['[3]', '[4]', '[2]', '[1]'])
    assert.deepEqual(await listKeys('SELECT price FROM trades ORDER BY symbol DESC LIMIT 2'), ['[3]', '[4]'])
    const groups = 'SELECT count(*) AS n FROM trades GROUP BY symbol, id ORDER BY n'
    assert.deepEqual(await listKeys(groups), ['["BHP",1]', '["BHP",2]', '["BHP",4]', '["CBA",3]'])
  })

  test('the restricted SQL gives the changed rows alone, with their keys', async () => {
    const changed = 'SELECT id FROM {trades} WHERE id IN (2, 3)'
    assert.deepEqual(
      (await planning.changes('SELECT symbol FROM trades WHERE price > 45.1', { changed })).sort(byKey),
      [
        { row: '["BHP"]', key: '[2]', route: '[]' },
        { row: '["CBA"]', key: '[3]', route: '[]' },
      ],
    )
    assert.deepEqual(await planning.changes('SELECT symbol FROM trades WHERE price > 1000', { changed }), [])
    const quotes = "SELECT symbol, at FROM {quotes} WHERE symbol = 'BHP'"
    assert.deepEqual(await planning.changes('SELECT bid FROM quotes', { changed: quotes }), [
      { row: '["45.0500"]', key: '["BHP","2026-01-30T09:59:00Z"]', route: '[]' },
    ])
  })

  test(
    'a row filter hides changed rows too, and conditions are not evaluated for hidden rows',
    shortOnSqlite(engine),
    async () => {
      await planning.run("INSERT INTO orders VALUES (1, 'admin', 5)")
      const changed = 'SELECT id FROM {orders}'
      const condition = 'SELECT id FROM orders WHERE 10 / (divisor - 5) > 0'
      await assert.rejects(planning.changes(condition, { changed }), { code: 'IQL.DivisionByZero' })
      assert.deepEqual(await planning.changes(condition, { changed, as: 'trader' }), [])
      assert.equal((await planning.changes('SELECT id FROM orders', { changed })).length, 1)
    },
  )

  test('statements that differ only in the compared values are of one family', () => {
    const of = (condition: string, parameters: Record<string, string | null> = {}) => {
      const statement = `SELECT price FROM trades WHERE ${condition}`
      const { family } = planning.plan(statement)
      return {
        sql: family?.changed.emitted.sql,
        columns: family?.columns,
        route: planning.findRoute(statement, { parameters }),
      }
    }
    const bhp = of('symbol = :s', { s: 'BHP' })
    assert.deepEqual([bhp.columns, bhp.route], [['symbol'], '["BHP"]'])
    for (const other of [of('symbol = :s', { s: 'CBA' }), of("symbol = 'CBA'"), of(':x = symbol', { x: 'CBA' })])
      assert.deepEqual(other, { ...bhp, route: '["CBA"]' })
    assert.equal(of('symbol = :s', { s: null }).route, undefined, 'a comparison with NULL is true for no row')
    assert.notEqual(of("symbol = 'BHP' AND quantity > 10").sql, bhp.sql)
    const both = of('quantity = 100 AND symbol = :s AND price > 1', { s: 'BHP' })
    assert.deepEqual([both.columns, both.route], [['quantity', 'symbol'], '[100,"BHP"]'])
    assert.equal(of("at = '2026-01-30T10:00:00.000Z'").route, '["2026-01-30T10:00:00Z"]')
    assert.equal(of('price = 45.1').route, '["45.1000"]')
    for (const condition of ['price = 45.10001', "symbol = 'A' OR quantity = 1", 'symbol = note', "symbol > 'A'"])
      assert.deepEqual(of(condition).columns, [], condition)
  })

  test('the rows of a family find its members by the route', shortOnSqlite(engine), async () => {
    const changed = 'SELECT id FROM {trades} WHERE id > 1'
    const statement = 'SELECT price FROM trades WHERE symbol = :s AND quantity = :q'
    const parameters = { s: 'BHP', q: '100' }
    const rows = await planning.changes(statement, { changed, parameters })
    assert.deepEqual(rows.map(({ key, route }) => [key, route]).sort(), [
      ['[2]', '["BHP",0]'],
      ['[3]', '["CBA",50]'],
      ['[4]', '["BHP",100]'],
    ])
    const route = planning.findRoute(statement, { parameters })
    const own = rows.filter((row) => row.route === route)
    assert.deepEqual(own, [{ row: '["45.0000"]', key: '[4]', route: '["BHP",100]' }])
  })

  test(
    'callers whose row filter compares a column with their name are of one family',
    shortOnSqlite(engine),
    async () => {
      const of = (statement: string, as: string) => {
        const { family } = planning.plan(statement, { as })
        return [family?.changed.emitted.sql, family?.columns, planning.findRoute(statement, { as })]
      }
      const [sql, columns, route] = of('SELECT id FROM orders', 'trader')
      assert.deepEqual([columns, route], [['owner'], '["trader"]'])
      assert.deepEqual(of('SELECT id FROM orders', 'admin'), [sql, columns, '["admin"]'])
      assert.deepEqual(of('SELECT id FROM orders WHERE divisor = 5', 'admin').slice(1), [
        ['divisor', 'owner'],
        '[5,"admin"]',
      ])
      assert.deepEqual(of('SELECT id FROM orders WHERE 10 / divisor > 1', 'admin')[1], [])
      await planning.run("INSERT INTO orders VALUES (8, 'admin', 5)")
      const changed = 'SELECT id FROM {orders} WHERE id > 7'
      const rows = await planning.changes('SELECT id FROM orders', { changed, as: 'trader' })
      assert.deepEqual(rows.map(({ key, route }) => [key, route]).sort(), [['[8]', '["admin"]']])
      assert.equal((await planning.whole('SELECT id FROM orders', { as: 'trader' })).length, 0)
      await planning.run('DELETE FROM orders WHERE id = 8')
    },
  )

  test(
    'a statement that could fail on the rows of others has no others in its family',
    shortOnSqlite(engine),
    async () => {
      const changed = 'SELECT id FROM {trades}'
      // A row of another symbol has the quantity 0.
      const statement = "SELECT 100 / quantity AS part FROM trades WHERE symbol = 'CBA'"
      assert.deepEqual(planning.plan(statement).family?.columns, [])
      assert.deepEqual(await planning.changes(statement, { changed }), [{ row: '[2]', key: '[3]', route: '[]' }])
      const product = "SELECT price * quantity AS value FROM trades WHERE symbol = 'CBA'"
      assert.deepEqual(planning.plan(product).family?.columns, ['symbol'])
    },
  )

  test('a statement that cannot be live says which part and what to do', () => {
    for (const [statement, message, hint, at] of REFUSED) {
      const error = catchRefusal(() => planning.plan(statement))
      assert.equal(error?.code, 'IQL.NotLive', statement)
      assert.match(error.message, message, statement)
      assert.match(String(error.details.members?.Hint), hint, statement)
      const position = error.details.members?.Position as { Offset: number } | undefined
      assert.ok(statement.slice(position?.Offset).startsWith(at), `${statement}: ${position?.Offset}`)
    }
  })
})

onEveryEngineInLongRuns('live plans of the corpus', (place) => {
  const folder = new URL('../corpus/', import.meta.url)
  const methods = new Map<string, number>()
  let planning: Planning
  before(async () => {
    planning = await openPlanning(place())
  })
  after(() => planning.close())

  test('every select is classified or refused, and its whole result has the rows of the query', async () => {
    for (const file of readdirSync(folder)) {
      for (const { statement, expected } of readCorpus(readFileSync(new URL(file, folder), 'utf8'))) {
        if (statement === '' || expected[0]?.startsWith('!')) continue
        if (parse(statement).kind === 'query') await classify(statement)
        else await planning.run(statement)
      }
      const tables = await planning.plain('SELECT name FROM cataloguetables WHERE NOT issystem')
      for (const row of tables) await planning.run(`DROP TABLE "${JSON.parse(row)[0]}"`)
    }
    for (const method of ['keys', 'rerun', 'refused']) assert.ok((methods.get(method) ?? 0) >= 10, `few ${method}`)
  })

  async function classify(statement: string): Promise<void> {
    let plan: LivePlan | undefined
    const error = catchRefusal(() => {
      plan = planning.plan(statement)
    })
    if (error !== undefined) assert.equal(error.code, 'IQL.NotLive', statement)
    const method = plan?.method ?? 'refused'
    methods.set(method, (methods.get(method) ?? 0) + 1)
    // Without a key the SQL is that of the query.
    if (plan === undefined || plan.keyNames === null) return
    const rows = (await planning.whole(statement)).map(({ row }) => row)
    assert.deepEqual(rows.sort(), (await planning.plain(statement)).sort(), statement)
  }
})

function catchRefusal(action: () => void): Refusal | undefined {
  try {
    action()
    return undefined
  } catch (error) {
    if (error instanceof Refusal) return error
    throw error
  }
}

function byKey(a: { readonly key: string }, b: { readonly key: string }): number {
  return a.key < b.key ? -1 : 1
}
