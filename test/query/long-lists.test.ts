/** Long lists after IN: they are one value of the SQL, with the results of short ones. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { bind, parse } from 'gatehouse-iql'
import { bindParameters } from '../../packages/server/src/query/engines/emit/parameters.ts'
import { createEmission, emitQuery } from '../../packages/server/src/query/engines/emit/query.ts'
import { POSTGRES } from '../../packages/server/src/query/engines/postgres/dialect/dialect.ts'
import { toPostgres } from '../../packages/server/src/query/engines/postgres/representation.ts'
import { SQLITE } from '../../packages/server/src/query/engines/sqlite/dialect/dialect.ts'
import { toSqlite } from '../../packages/server/src/query/engines/sqlite/representation.ts'
import { onEveryEngine } from '../support/engines.ts'
import { marketCatalogue } from './iql/market-catalogue.ts'
import { type QueryServer, startQueryServer } from './query-server.ts'

const ITEMS = 150
const numbers = (count: number, from = 1000): string =>
  Array.from({ length: count }, (_item, index) => from + index).join(', ')

for (const [dialect, toDriver] of [
  [SQLITE, toSqlite],
  [POSTGRES, toPostgres],
] as const) {
  test(`the SQL of ${dialect === SQLITE ? 'SQLite' : 'PostgreSQL'} has one value for a long list`, () => {
    const text = `SELECT id FROM trades WHERE id IN (${numbers(4000)}) AND qty NOT IN (${numbers(4000, 2000)})`
    const { statement } = bind(parse(text), text, marketCatalogue())
    assert.ok(statement.kind === 'query')
    const emission = createEmission(dialect)
    const plan = emission.placeholders.numbered(emitQuery(statement, emission))
    assert.ok(plan.sql.length < 500, plan.sql.slice(0, 500))
    const values = { parameters: [], subject: '', username: '', clientId: '', roles: [], scopes: new Set<string>() }
    const bound = bindParameters(plan, { ...values, milliseconds: 0 }, toDriver)
    assert.equal(bound.length, 2)
  })

  test(`a long parameter that is many items is in the list of ${dialect === SQLITE ? 'SQLite' : 'PostgreSQL'} once`, () => {
    const text = `SELECT id FROM trades WHERE symbol IN (${Array.from({ length: 4000 }, () => ':p').join(', ')})`
    const { statement } = bind(parse(text), text, marketCatalogue())
    assert.ok(statement.kind === 'query')
    const emission = createEmission(dialect)
    const plan = emission.placeholders.numbered(emitQuery(statement, emission))
    const values = {
      parameters: ['x'.repeat(1000)],
      subject: '',
      username: '',
      clientId: '',
      roles: [],
      scopes: new Set<string>(),
    }
    const [list] = bindParameters(plan, { ...values, milliseconds: 0 }, toDriver)
    assert.ok(typeof list === 'string' && list.length < 1100, String(list).slice(0, 100))
  })
}

onEveryEngine('long lists', (place) => {
  let server: QueryServer
  before(async () => {
    server = await startQueryServer(place())
    await rows(`CREATE TABLE listed (id Integer PRIMARY KEY, t Text, d Decimal(12, 2), w Decimal(30, 2), f Double, b Boolean, at Timestamp,
      day Date, hour Time, u Uuid)`)
    for (const [index, text] of TEXTS.entries()) {
      const reply = await server.call('/query/listed/insert', [
        { ...ROW, id: index - 3, t: text, d: `${index}.50`, w: `${index}.25` },
      ])
      assert.equal(reply.status, 200, reply.text)
    }
  })
  after(() => server.stop())

  const rows = async (statement: string): Promise<readonly Record<string, unknown>[]> => {
    const { status, json, text } = await server.query(statement)
    assert.equal(status, 200, `${statement.slice(0, 200)}: ${text}`)
    return json.Rows
  }
  const TEXTS = ['plain', "it's", 'a"b', 'back\\slash', '{1,2}', 'NULL', '', 'é漢😀', 'comma, space', null] as const
  const ROW = {
    f: 1.5,
    b: true,
    at: '2026-01-02T03:04:05.678901Z',
    day: '2026-01-02',
    hour: '03:04:05',
    u: '6f2c1f3a-0000-4000-8000-000000000001',
  }
  const fill = (item: (index: number) => string): string => Array.from({ length: ITEMS }, (_x, i) => item(i)).join(', ')

  test('a long list has the rows of a short one, for every type', async () => {
    const texts = TEXTS.filter((text) => text !== null && text !== 'plain').map(
      (text) => `'${text?.replaceAll("'", "''")}'`,
    )
    const lists: readonly (readonly [column: string, wanted: string, filler: string])[] = [
      ['id', '-3, 0, 4', fill((i) => String(i + 1000))],
      ['id + 1', '-2, 1', fill((i) => String(i + 1000))],
      ['t', texts.join(', '), fill((i) => `'filler ${i}'`)],
      ['upper(t)', texts.join(', '), fill((i) => `'filler ${i}'`)],
      ['d', '1.5, 2.50, 9223372036854775807', fill((i) => `${i + 100}.25`)],
      ['d', '1.5, 2.505', fill((i) => `${i + 100}.25`)],
      ['w', '1.25, 2.25', fill((i) => `${i + 100}.25`)],
      ['f', '1.5', fill((i) => `${i + 100}.25`)],
      ['at', `'${ROW.at}'`, fill((i) => `'2020-01-01T00:00:${String(i % 60).padStart(2, '0')}Z'`)],
      ['day', `'${ROW.day}'`, fill((i) => `'2020-01-${String((i % 28) + 1).padStart(2, '0')}'`)],
      ['hour', `'${ROW.hour}'`, fill((i) => `'00:00:${String(i % 60).padStart(2, '0')}'`)],
      ['u', `'${ROW.u}'`, fill((i) => `'00000000-0000-4000-8000-${String(i).padStart(12, '0')}'`)],
      ['id', '-3, NULL', fill((i) => String(i + 1000))],
      ['id', '-3, length(t)', fill((i) => String(i + 1000))],
    ]
    for (const [column, wanted, filler] of lists)
      for (const word of ['IN', 'NOT IN']) {
        const short = await rows(`SELECT id FROM listed WHERE ${column} ${word} (${wanted}) ORDER BY id`)
        const long = await rows(`SELECT id FROM listed WHERE ${column} ${word} (${wanted}, ${filler}) ORDER BY id`)
        assert.deepEqual(long, short, `${column} ${word} (${wanted})`)
        const grouped = `SELECT ${column} ${word} (${wanted}, ${filler}) AS x, count(*) AS n FROM listed GROUP BY 1 ORDER BY n`
        assert.ok((await rows(grouped)).length > 0)
      }
  })

  test('statements of the same shape return the rows of their own lists', async () => {
    for (const first of [-3, 0, 4])
      assert.deepEqual(
        await rows(`SELECT id FROM listed WHERE d > 0 AND id IN (${first}, ${fill((i) => `${i + 1000}`)})`),
        [{ id: first }],
      )
    for (const bound of [1, 5])
      assert.equal(
        (await rows(`SELECT id FROM listed WHERE d > ${bound} AND id IN (6, ${fill((i) => `${i - 90}`)})`)).length,
        10 - bound,
      )
  })

  test('a call with a long list of values returns the rows of its own values', async () => {
    const filler = Array.from({ length: ITEMS }, (_item, index) => index + 1000)
    const call = async (column: string, operator: string, value: readonly unknown[]): Promise<unknown> => {
      const { json } = await server.call('/query/listed/select?columns=id', [
        { ColumnName: column, Operator: operator, Value: value },
      ])
      return json.Rows
    }
    assert.deepEqual(await call('id', 'in', [4, ...filler]), [{ id: 4 }])
    assert.deepEqual(await call('id', 'in', [...filler, -3, 5]), [{ id: -3 }, { id: 5 }])
    const texts = filler.map((number) => `filler ${number}`)
    assert.deepEqual(await call('t', 'in', ['a"b', ...texts, 'NULL']), [{ id: -1 }, { id: 2 }])
    assert.equal(((await call('t', 'not in', ['a"b', ...texts])) as unknown[]).length, TEXTS.length - 2)
    assert.deepEqual(await call('d', 'in', ['1.50', ...filler.map((number) => `${number}.75`)]), [{ id: -2 }])
  })
})
