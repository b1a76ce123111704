/** The SQL of a statement grows linearly with the statement, not exponentially with its nesting. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { bind, FUNCTIONS, parse } from 'gatehouse-iql'
import { Refusal } from 'gatehouse-protocol'
import { createEmission, emitQuery } from '../../packages/server/src/query/engines/emit/query.ts'
import { POSTGRES } from '../../packages/server/src/query/engines/postgres/dialect/dialect.ts'
import { SQLITE } from '../../packages/server/src/query/engines/sqlite/dialect/dialect.ts'
import { marketCatalogue } from './iql/market-catalogue.ts'

/** `$` is replaced by the next level; `innermost` is the last one. */
const NESTED: readonly (readonly [string, string])[] = [
  ['nullif($, 2)', '1'],
  ['nullif($, 2.5)', '1'],
  ['nullif(2.5, $)', '1.5'],
  ['coalesce(nullif($, 2), 3)', '1'],
  ['CAST(CAST($ AS Date) AS Timestamp)', 'now()'],
  ['CAST(CAST($ AS Text) AS Integer)', '1'],
  ['CASE $ WHEN 1 THEN 2 ELSE 3 END', '1'],
  ['CASE WHEN $ > 1 THEN 2 ELSE 3 END', '1'],
  ['($ BETWEEN TRUE AND FALSE)', 'TRUE'],
  ['($ IS DISTINCT FROM TRUE)', 'TRUE'],
  ['($ IS TRUE)', 'TRUE'],
  ["CAST($ LIKE 'a%' AS Text)", "'a'"],
  ['($ IN (TRUE, FALSE))', 'TRUE'],
  ['(SELECT $ AS x)', '1'],
  ['(- $)', '1'],
  ["($ + INTERVAL '1 month')", 'now()'],
  ['($ * 1.5)', '1'],
  ['($ / 1.5)', '1'],
  ['($ % 1.5)', '1'],
  ['($ + 1.5e0)', '1.5e0'],
]

/** Every function of one kind of number, text or time, applied to its own result. */
const CALLS = [...FUNCTIONS]
  .flatMap(({ name }) => [
    [`${name}($)`, '1'],
    [`${name}($)`, '1.5'],
    [`${name}($)`, '1.5e0'],
    [`${name}($)`, "'a'"],
    [`${name}($, 2)`, '1'],
    [`${name}($, 2)`, '1.5'],
    [`${name}($, 2)`, "'a'"],
    [`${name}($, 'b')`, "'a'"],
    [`${name}($, 'b', 'c')`, "'a'"],
    [`${name}($, 2, 'c')`, "'a'"],
    [`${name}($, 1, 2)`, "'a'"],
    [`${name}('day', $)`, 'now()'],
    [`${name}(INTERVAL '1 day', $)`, 'now()'],
  ])
  .map(([shape = '', innermost = '']) => [shape, innermost] as const)

test('nesting does not multiply the SQL', () => {
  let emitted = 0
  for (const [shape, innermost] of [...NESTED, ...CALLS]) {
    for (const dialect of [SQLITE, POSTGRES]) {
      const sizes = [5, 10, 20].map((depth) => {
        let text = innermost
        for (let level = 0; level < depth; level++) text = shape.replace('$', () => text)
        return measureSize(`SELECT ${text} AS x ORDER BY x`, dialect)
      })
      const [five, ten, twenty] = sizes
      if (five === undefined || ten === undefined || twenty === undefined) continue
      emitted++
      assert.ok(twenty - ten <= 2.5 * (ten - five) + 200, `${shape}: ${sizes.join(', ')}`)
    }
  }
  assert.ok(emitted > 60, String(emitted))
})

test('NULLIF of two types, which repeats its first argument in the SQL, can be nested only a few times', () => {
  const nested = (depth: number): string => `SELECT ${'nullif('.repeat(depth)}1${', 2.5)'.repeat(depth)} AS x`
  assert.ok(measureSize(nested(6), SQLITE) !== undefined)
  assert.throws(() => bind(parse(nested(40)), nested(40), marketCatalogue()), { code: 'IQL.TooComplex' })
})

/** Undefined when the statement is refused: not every function accepts its own result. */
function measureSize(statement: string, dialect: typeof SQLITE): number | undefined {
  try {
    const { statement: bound } = bind(parse(statement), statement, marketCatalogue())
    assert.equal(bound.kind, 'query')
    return bound.kind === 'query' ? emitQuery(bound, createEmission(dialect)).length : undefined
  } catch (error) {
    if (error instanceof Refusal) return undefined
    throw error
  }
}
