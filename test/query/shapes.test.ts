/** Plans by shape: a statement is planned with the literals of its text as if no other of its shape had been planned before. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { DEFAULT_LIMITS, readShape, tokenize } from 'gatehouse-iql'
import { type Principal, Refusal } from 'gatehouse-protocol'
import { bindParameters } from '../../packages/server/src/query/engines/emit/parameters.ts'
import { type Planned, Planner } from '../../packages/server/src/query/plan/planner.ts'
import { onEveryEngine } from '../support/engines.ts'
import { Choice } from './agree/choice.ts'
import { COLUMNS } from './agree/data.ts'
import { Expressions } from './agree/expressions.ts'
import { Queries } from './agree/queries.ts'
import { print } from './iql/print.ts'
import { type LiveEngine, openLiveEngine } from './live/live-engine.ts'
import { CALLERS, caller } from './query-server.ts'

const SEED = 20_261_116
const ADMIN = caller('admin', ['Platform/Admin', 'Platform/Market'], [])
const READER = caller('reader', ['Platform/Market'], ['trader'])

const STATEMENTS: readonly string[] = [
  'SELECT id, t FROM a WHERE id = 1',
  'SELECT id, t FROM a WHERE 5 = id',
  'SELECT id FROM a WHERE d = 1 AND s < -2.25 OR NOT (w >= 3 OR f <> 0.5)',
  'SELECT id FROM a WHERE i = 1.5',
  'SELECT id FROM a WHERE i IS DISTINCT FROM - 4',
  'SELECT id FROM a WHERE x >= 1 AND y = 2.5e0 AND x < .5',
  "SELECT id FROM a WHERE t = 'a' AND u <> 'it''s'",
  "SELECT id FROM a WHERE ts > '2026-01-01' AND ts < TIMESTAMP '2026-01-31T09:30:00Z' AND dt = '2026-01-30'",
  "SELECT id FROM a WHERE tm >= '09:30:00' AND g = '123e4567-e89b-12d3-a456-426614174000' AND dt <> DATE '2026-01-30'",
  'SELECT id FROM a WHERE id IN (1, 2, 3) AND d BETWEEN 1 AND 2.5 AND s IN (1, 2.25)',
  "SELECT id FROM a WHERE ts = DATE '2026-01-30' AND t = 5",
  'SELECT id FROM a WHERE id + 1 = 3 AND length(t) = 1 AND -id = 2 AND id = -(-2)',
  'SELECT k + 1 AS c FROM a WHERE k = 1 ORDER BY 1 LIMIT 3 OFFSET 1',
  'SELECT k + 1 AS c, count(*) AS n FROM a WHERE i > 2 GROUP BY k + 1 HAVING count(*) > 1',
  "SELECT 1 AS one, 'x' AS x, id FROM a WHERE id = 1 LIMIT 5",
  'SELECT 1, 2 FROM a WHERE id = 1',
  'SELECT (SELECT max(i) FROM b WHERE k = 1) FROM a WHERE id = 2',
  "SELECT round(d, 2) AS r, t || 'x' AS x, CAST('5' AS Integer) AS n FROM a WHERE id = 3",
  "SELECT ts + INTERVAL '5 minutes' AS c, extract(hour FROM ts) AS h FROM a WHERE ts > '2026-01-01'",
  "SELECT id FROM a WHERE t LIKE 'a%' ESCAPE '!' AND id = 1",
  'SELECT id, CASE WHEN id = 1 THEN 2 ELSE 3 END AS c FROM a WHERE id = 1',
  'SELECT q.id FROM (SELECT id FROM a WHERE k = 1) AS q WHERE q.id = 2',
  'WITH c AS (SELECT id FROM a WHERE k = 1) SELECT id FROM c WHERE id = 2 UNION SELECT id FROM b WHERE id = 3',
  'SELECT p.id FROM a AS p JOIN b AS q ON p.id = q.id AND q.k = 1 WHERE q.id = 2',
  'SELECT id FROM a WHERE id IN (SELECT id FROM b WHERE k = 1) AND i = 2',
  "SELECT id -- it's 5\n FROM a /* 'x' 7 */ WHERE id = 1",
  `SELECT id AS "1'2" FROM a WHERE id=1 AND b = x'0aff' AND t='x'`,
  "SELECT id FROM a WHERE é = 1 AND t = 'é'",
  'SELECT id FROM a WHERE id = :id AND k = 1',
  'SELECT id FROM a WHERE id = 1 1',
  'SELECT id FROM a WHERE id = 1a',
  "SELECT id FROM a WHERE t = 'a",
  'SELECT missing FROM a WHERE id = 1',
  'SELECT id FROM a WHERE id = 1 AND missing = 2',
  "SELECT v, n FROM keyed WHERE code = 'a' AND n = 1",
  "SELECT name FROM cataloguetables WHERE name = 'a'",
  "INSERT INTO b (id, d, s, x, t, ts, g, j) VALUES (1, 2, 2.50, 3, 'a', '2026-01-30', '123e4567-e89b-12d3-a456-426614174000', '{}'), (2, -2, 1, -3.5, 'b', TIMESTAMP '2026-01-30', NULL, '[1]')",
  "INSERT INTO keyed (code, v, n) VALUES ('a', 'b', 1) ON CONFLICT (code) DO UPDATE SET v = 'c', n = 2 WHERE keyed.n = 3 RETURNING n + 1 AS m",
  'INSERT INTO b (id, k) SELECT id, 1 AS k FROM a WHERE k = 2',
  "UPDATE b SET d = 1.5, t = 'a', k = k + 1 WHERE id = 1 RETURNING id",
  "UPDATE keyed SET code = 'b' WHERE code = 'a'",
  'DELETE FROM b WHERE id = 1 OR d = 2.5',
  "UPDATE cataloguetables SET description = 'a' WHERE name = 'b'",
  'EXPLAIN SELECT id FROM a WHERE id = 1',
  'DESCRIBE a',
]

const NUMBERS = [
  ...['0', '1', '7', '42', '007', '100000', '9223372036854775807', '9223372036854775808', '123456789012345678'],
  ...['99999999999999999999', '1.5', '0.25', '.5', '1.50', '0.0', '10.00', '123.45678', '12345678901234567890.5'],
  ...['1e3', '2.5e-2', '1e400', '5E0', '00000000000000000000001'],
]
const TEXTS = [
  ...['', 'a', "it''s", 'é', '5', 'NULL', '--', 'a%', '!', '{"a": 1}', '[', '2026-01-30', '2026-02-30', '09:30:00'],
  ...['2026-01-31T09:30:00Z', '123E4567-e89b-12d3-a456-426614174000', '5 minutes', 'a\0b', '\ud800'],
  ...['x'.repeat(2600), 'é'.repeat(1300)],
]

/** The text with other literals, most of them of the same kind. */
function withOtherLiterals(text: string, choice: Choice): string {
  let changed = ''
  let copied = 0
  for (const { kind, at } of tokens(text)) {
    if ((kind !== 'number' && kind !== 'text') || choice.oneIn(3)) continue
    const length =
      kind === 'number' ? (/^[\d.]+(?:[eE][+-]?\d+)?/.exec(text.slice(at))?.[0].length ?? 0) : textLength(text, at)
    const written = text.slice(at, at + length)
    const alike = NUMBERS.filter(
      (other) => /e/i.test(other) === /e/i.test(written) && other.includes('.') === written.includes('.'),
    )
    const other = kind === 'text' ? `'${choice.of(TEXTS)}'` : choice.of(choice.oneIn(4) ? NUMBERS : alike)
    changed += text.slice(copied, at) + other
    copied = at + length
  }
  return changed + text.slice(copied)
}

function textLength(text: string, at: number): number {
  return /'(?:[^']|'')*'/.exec(text.slice(at))?.[0].length ?? 0
}

function tokens(text: string) {
  try {
    // TIMESTAMP '…' is two tokens.
    return tokenize(text, DEFAULT_LIMITS)
  } catch {
    return []
  }
}

onEveryEngine('plans by shape', (place) => {
  let live: LiveEngine
  let sharing: Planner
  /** How many statements had a plan of another one. */
  const counts = { shared: 0, planned: 0, refused: 0 }
  const seen = new Map<unknown, string>()

  before(async () => {
    live = await openLiveEngine(place())
    const columns = COLUMNS.map(({ name, type }) => `${name} ${type}${name === 'id' ? ' PRIMARY KEY' : ''}`).join(', ')
    for (const definition of [
      `CREATE TABLE a (${columns})`,
      `CREATE TABLE b (${columns})`,
      "CREATE TABLE keyed (code Text PRIMARY KEY, v Text, n Integer) WRITE SCOPE 'Platform/Market' ROW FILTER (n <> 4 AND v <> :username)",
      'CREATE INDEX keyed_v ON keyed (v)',
    ])
      await live.run(definition)
    sharing = new Planner(live.engine)
  })
  after(() => live.close())

  /** All that a run depends on, or the whole error. */
  function catchOutcome(plan: () => Planned, principal: Principal): unknown {
    let planned: Planned
    try {
      planned = plan()
    } catch (error) {
      if (!(error instanceof Refusal)) throw error
      return [error.code, error.status, error.message, error.details]
    }
    const { text, cost, bound, readsAuditLog, literals } = planned
    const { columns, parameters, usesClaims, tables } = bound
    return { text, cost, columns, parameters, usesClaims, tables, readsAuditLog, run: runStatement(planned, principal) }

    function runStatement(
      { emitted: made, read }: Planned,
      { subject, username, clientId, roles, scopes }: Principal,
    ): unknown {
      if (made === undefined) return undefined
      const values = { parameters: [], literals, subject, username, clientId, roles, scopes, milliseconds: 0 }
      const given = bindParameters(made, values, live.engine.bind)
      // PostgreSQL has one number for equal literals.
      const sql = made.sql.replace(/\$(\d+)/g, (_whole, number) => String(given[Number(number) - 1]))
      return {
        sql,
        given: made.sql === sql ? given : [],
        isRead: read !== undefined,
        isInline: read?.readInline !== undefined,
      }
    }
  }

  function check(text: string, principal: Principal): void {
    const { snapshot } = live.catalogue
    const alone = new Planner(live.engine)
    let shared: Planned | undefined
    const outcome = catchOutcome(() => {
      shared = sharing.plan(principal, snapshot, text)
      return shared
    }, principal)
    assert.deepEqual(
      outcome,
      catchOutcome(() => alone.planWithLiterals(principal, snapshot, text), principal),
      text,
    )
    counts[shared === undefined ? 'refused' : 'planned']++
    if (shared?.emitted === undefined) return
    const first = seen.get(shared.emitted) ?? text
    if (first !== text) counts.shared++
    seen.set(shared.emitted, first)
  }

  test('the SQL, the values, the columns, the cost class and the errors are those of a separate plan', async () => {
    const choice = new Choice(SEED)
    for (let round = 0; round < 15; round++) {
      await turn()
      for (const statement of STATEMENTS) {
        check(round === 0 ? statement : withOtherLiterals(statement, choice), choice.oneIn(4) ? READER : ADMIN)
      }
    }
    assert.ok(counts.shared > counts.planned / 6 && counts.refused > 50, JSON.stringify(counts))
  })

  test('the same holds for random statements', async () => {
    const choice = new Choice(SEED)
    const queries = new Queries(new Expressions(choice, true))
    for (let made = 0; made < 60; made++) {
      await turn()
      const statement = print(queries.statement())
      for (let round = 0; round < 4; round++)
        check(round === 0 ? statement : withOtherLiterals(statement, choice), ADMIN)
    }
  })

  test('statements that differ in literals share a plan; another LIMIT is another plan', () => {
    const planner = new Planner(live.engine)
    const plan = (text: string) => planner.plan(ADMIN, live.catalogue.snapshot, text)
    const first = plan('SELECT id FROM a WHERE id = 0 LIMIT 1')
    for (let id = 1; id < 200; id++)
      assert.equal(plan(`SELECT id FROM a WHERE id = ${id} LIMIT 1`).emitted, first.emitted)
    assert.equal(planner.size, 1)
    assert.notEqual(plan('SELECT id FROM a WHERE id = 0 LIMIT 2').emitted, first.emitted)
    assert.equal(plan('SELECT id FROM a WHERE id = 7 LIMIT 1').emitted, first.emitted)
    // With as many digits after the point as the column, with fewer and with none.
    for (const price of ['2.25', '1.5', '7']) {
      const some = plan(`SELECT id FROM a WHERE s = ${price}`)
      assert.equal(plan(`SELECT id FROM a WHERE s = ${price.replace(/\d/g, '1')}`).emitted, some.emitted, price)
    }
    assert.notEqual(planner.plan(CALLERS.market ?? READER, live.catalogue.snapshot, first.text).emitted, first.emitted)
  })

  test('a value that is too long for a key is refused after others were planned', () => {
    for (const code of ['a', 'b', 'x'.repeat(2501), 'é'.repeat(1251), 'é'.repeat(1250)]) {
      check(`INSERT INTO keyed (code, n) VALUES ('${code}', 1)`, ADMIN)
      check(`UPDATE keyed SET v = '${code}' WHERE code = '${code}'`, ADMIN)
    }
  })

  test('a first statement whose literal is no parameter does not keep those after it from sharing a plan', () => {
    const planner = new Planner(live.engine)
    const plan = (text: string) => planner.plan(ADMIN, live.catalogue.snapshot, text)
    plan('SELECT id FROM a WHERE k = 1 AND d = 1.123456')
    const first = plan('SELECT id FROM a WHERE k = 1 AND d = 1.12')
    assert.equal(plan('SELECT id FROM a WHERE k = 2 AND d = 0.5').emitted, first.emitted)
  })
})

test('no text has the key of another statement as its own', () => {
  const key = readShape('SELECT id FROM a WHERE id = 1')?.key ?? ''
  assert.notEqual(key, '')
  for (const text of [key, `${key} AND k = 1`, key.replace('\0i', "'\0i'")]) assert.notEqual(readShape(text)?.key, key)
})
