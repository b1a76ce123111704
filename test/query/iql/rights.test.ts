import assert from 'node:assert/strict'
import { test } from 'node:test'
import { bind } from '../../../packages/iql/src/bind/binder.ts'
import type { Bound } from '../../../packages/iql/src/bound/bound.ts'
import { parse } from '../../../packages/iql/src/syntax/parser.ts'
import { marketCatalogue } from './market-catalogue.ts'
import { catchRefusal } from './refusals.ts'

function bound(statement: string, catalogue = marketCatalogue()): Bound {
  return bind(parse(statement), statement, catalogue)
}

/** For every use of the table in the tree, whether it has the row filter. */
function findUses(tree: unknown, tableName: string): boolean[] {
  if (typeof tree !== 'object' || tree === null) return []
  if (Array.isArray(tree)) return tree.flatMap((item) => findUses(item, tableName))
  const node: Record<string, unknown> = { ...tree }
  const isUse = node.kind === 'table' && JSON.stringify(node.table).startsWith(`{"name":"${tableName}"`)
  const own = isUse ? [hasClaims(node.filter)] : []
  return [
    ...own,
    ...Object.entries(node).flatMap(([key, value]) => (key === 'table' ? [] : findUses(value, tableName))),
  ]
}

function hasClaims(tree: unknown): boolean {
  const text = JSON.stringify(tree, (_key, value) => (typeof value === 'bigint' ? String(value) : value)) ?? ''
  return text.includes('"claim":"sub"') && text.includes('"claim":"role"')
}

/** The table orders has a row filter. Each statement uses the table this many times. */
const READS: readonly (readonly [string, number])[] = [
  ['SELECT * FROM orders', 1],
  ['SELECT o.id FROM orders o JOIN orders p ON o.id = p.id', 2],
  ['SELECT t.id FROM trades t LEFT JOIN orders o ON o.id = t.id', 1],
  ['SELECT t.id FROM trades t FULL JOIN orders o ON o.id = t.id', 1],
  ['SELECT t.id FROM trades t ASOF JOIN orders o ON t.id = o.id AND t.qty >= o.qty', 1],
  ['SELECT (SELECT max(qty) FROM orders) AS x', 1],
  ['SELECT id FROM trades WHERE EXISTS (SELECT 1 FROM orders)', 1],
  ['SELECT id FROM trades WHERE id IN (SELECT id FROM orders)', 1],
  ['SELECT x.id FROM (SELECT id FROM orders) x', 1],
  ['WITH x AS (SELECT id FROM orders) SELECT id FROM x', 1],
  ['SELECT id FROM trades UNION SELECT id FROM orders', 1],
  ['SELECT id FROM trades ORDER BY (SELECT max(qty) FROM orders)', 1],
  ['EXPLAIN SELECT * FROM orders', 1],
  ['INSERT INTO trades (id, symbol, price, qty, ts) SELECT id, owner, 1, qty, now() FROM orders', 1],
  ['UPDATE trades SET qty = (SELECT max(qty) FROM orders) ALL', 1],
  ['DELETE FROM trades WHERE id IN (SELECT id FROM orders)', 1],
  ["INSERT INTO trades (id, symbol, price, qty, ts) VALUES ((SELECT max(id) FROM orders), 'a', 1, 1, now())", 1],
]

for (const [statement, count] of READS) {
  test(`the row filter applies in: ${statement}`, () => {
    const made = bound(statement)
    assert.deepEqual(findUses(made.statement, 'orders'), Array(count).fill(true))
    assert.equal(made.usesClaims, true)
  })
}

test('a write changes only rows that the caller can see, and cannot hide a row from the caller', () => {
  const update = bound('UPDATE orders SET qty = 1 ALL').statement
  assert.ok(update.kind === 'update' && hasClaims(update.where) && hasClaims(update.check))
  const narrowed = bound('UPDATE orders SET qty = 1 WHERE id = 1 OR TRUE').statement
  assert.ok(narrowed.kind === 'update' && narrowed.where?.kind === 'logic' && narrowed.where.operator === 'and')
  const deleted = bound('DELETE FROM orders ALL').statement
  assert.ok(deleted.kind === 'delete' && hasClaims(deleted.where))
  const insert = bound(
    "INSERT INTO orders (id, owner) VALUES (1, 'a') ON CONFLICT (id) DO UPDATE SET owner = 'b'",
  ).statement
  assert.ok(insert.kind === 'insert' && hasClaims(insert.check))
  assert.ok(insert.onConflict?.kind === 'update' && hasClaims(insert.onConflict.where))
})

test('a parameter of the statement is never a claim, whatever its name is', () => {
  const made = bound('SELECT id FROM orders WHERE owner = :sub')
  assert.deepEqual(
    made.parameters.map(({ name }) => name),
    ['sub'],
  )
  assert.equal(
    made.statement.kind === 'query' && made.statement.body.kind === 'select' && hasClaims(made.statement.body.where),
    false,
  )
})

test('a table that the caller may not read is refused exactly like one that does not exist', () => {
  const all = marketCatalogue()
  const hidden = {
    ...all,
    lookup: (name: string) => (/^orders$/i.test(name) ? undefined : all.lookup(name)),
    tableNames: () => ['trades'],
  }
  for (const statement of [
    'SELECT 1 FROM orders',
    'SELECT 1 FROM trades JOIN orders ON TRUE',
    'SELECT (SELECT 1 FROM orders)',
    'SELECT 1 FROM trades WHERE EXISTS (SELECT 1 FROM orders)',
    'SELECT 1 UNION SELECT 1 FROM orders',
    'EXPLAIN SELECT 1 FROM orders',
    'DESCRIBE orders',
    'INSERT INTO orders (id) VALUES (1)',
    'UPDATE orders SET id = 1 ALL',
    'DELETE FROM orders ALL',
    'ALTER TABLE orders ADD COLUMN x Text',
    'DROP TABLE orders',
    'CREATE INDEX i ON orders (id)',
  ]) {
    const told = catchRefusal(() => bound(statement, hidden))
    const unknown = statement.replace('orders', 'ordexx')
    assert.deepEqual(told, { ...catchRefusal(() => bound(unknown, hidden)), message: 'There is no table orders' })
  }
})

test('writing and defining require their scopes, and the error names the missing one', () => {
  const reader = marketCatalogue({ mayWrite: false, mayDefine: false })
  for (const statement of [
    "INSERT INTO orders (id, owner) VALUES (1, 'a')",
    'UPDATE orders SET qty = 1 ALL',
    'DELETE FROM orders ALL',
    'EXPLAIN DELETE FROM orders ALL',
    'CREATE TABLE x (a Text)',
    'ALTER TABLE trades DROP COLUMN note',
    'DROP TABLE trades',
    'DROP TABLE IF EXISTS trades',
    'CREATE INDEX i ON trades (qty)',
    'DROP INDEX trades_ts',
  ]) {
    const told = catchRefusal(() => bound(statement, reader))
    assert.equal(told.code, 'IQL.Forbidden', statement)
    assert.match(told.message, /Platform\/Admin/)
  }
})

test('tables with similar names are distinct', () => {
  assert.equal(bound('SELECT * FROM CATALOGUETABLE').tables[0]?.name, 'CatalogueTable')
  assert.equal(bound('SELECT * FROM CatalogueTables').tables[0]?.name, 'cataloguetables')
})
