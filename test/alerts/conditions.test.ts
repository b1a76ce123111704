/** Conditions of alerts are evaluated in the process as both engines evaluate them: a property over random rows and conditions. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import fc from 'fast-check'
import { decimal, type IqlType, type ResultColumn } from 'gatehouse-iql'
import { Refusal } from 'gatehouse-protocol'
import { bindCondition } from '../../packages/server/src/alerts/condition/bind.ts'
import { compileCells } from '../../packages/server/src/alerts/condition/cells.ts'
import { compileCondition } from '../../packages/server/src/alerts/condition/evaluate.ts'
import { parseExactly } from '../../packages/server/src/lib/exact-json.ts'
import { type QueryServer, startQueryServer } from '../query/query-server.ts'
import { onEveryEngine } from '../support/engines.ts'

interface Kind {
  readonly type: IqlType
  readonly declared: string
  /** As literals of IQL. */
  readonly values: readonly string[]
}

const text = (value: string) => `'${value}'`
const KINDS: Readonly<Record<string, Kind>> = {
  i: {
    type: { kind: 'Integer' },
    declared: 'Integer',
    values: ['-9223372036854775807', '-1', '0', '3', '9007199254740993', '9223372036854775807'],
  },
  d: { type: decimal(12, 4), declared: 'Decimal(12, 4)', values: ['-0.0001', '0', '0.5', '3.0000', '99999999.9999'] },
  w: {
    type: decimal(30, 6),
    declared: 'Decimal(30, 6)',
    values: ['-123456789012345678901234.000001', '0', '0.500000', '3', '9007199254740993'],
  },
  f: { type: { kind: 'Double' }, declared: 'Double', values: ['-1.5e300', '0', '0.1', '0.5', '3', '9007199254740992'] },
  t: { type: { kind: 'Text' }, declared: 'Text', values: ['', 'A', 'a', 'ab', 'é', '￿', '😀'].map(text) },
  b: { type: { kind: 'Boolean' }, declared: 'Boolean', values: ['true', 'false'] },
  s: {
    type: { kind: 'Timestamp' },
    declared: 'Timestamp',
    values: ['1969-12-31T23:59:59.999999Z', '2026-01-05T00:00:00Z', '2026-01-05T00:00:00.000001Z'].map(
      (each) => `TIMESTAMP '${each}'`,
    ),
  },
  y: { type: { kind: 'Date' }, declared: 'Date', values: ['1969-12-31', '2026-01-05'].map((each) => `DATE '${each}'`) },
  u: {
    type: { kind: 'Uuid' },
    declared: 'Uuid',
    values: ['00000000-0000-0000-0000-00000000000a', 'ffffffff-0000-0000-0000-000000000000'].map(
      (each) => `UUID '${each}'`,
    ),
  },
}
const NAMES = Object.keys(KINDS)
const ID: ResultColumn = { name: 'id', type: { kind: 'Integer' }, nullable: false }
const COLUMNS: readonly ResultColumn[] = [
  ID,
  ...Object.entries(KINDS).map(([name, { type }]) => ({ name, type, nullable: true })),
]
const NUMBERS = ['i', 'd', 'w', 'f']

const pick = (values: readonly string[]) => fc.constantFrom(...values)
const anyValue = (name: string) => pick(['NULL', ...(KINDS[name]?.values ?? [])])
const plainValue = (name: string) => pick(KINDS[name]?.values ?? [])
const peers = (name: string) => (NUMBERS.includes(name) ? NUMBERS : [name])

const comparison: fc.Arbitrary<string> = pick(NAMES).chain((name) => {
  const other = fc.oneof(plainValue(name), pick(peers(name)), pick(peers(name)).chain(plainValue))
  const operator = pick(['=', '<>', '<', '<=', '>', '>='])
  return fc.oneof(
    fc.tuple(operator, other).map(([sign, right]) => `${name} ${sign} ${right}`),
    fc.tuple(pick(['', 'NOT ']), other, other).map(([not, low, high]) => `${name} ${not}BETWEEN ${low} AND ${high}`),
    fc
      .tuple(pick(['', 'NOT ']), fc.array(other, { minLength: 1, maxLength: 3 }))
      .map(([not, items]) => `${name} ${not}IN (${items.join(', ')})`),
    pick(['IS NULL', 'IS NOT NULL']).map((is) => `${name} ${is}`),
    fc.tuple(pick(['IS DISTINCT FROM', 'IS NOT DISTINCT FROM']), other).map(([is, right]) => `${name} ${is} ${right}`),
  )
})

const { condition } = fc.letrec<{ condition: string }>((tie) => ({
  condition: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    comparison,
    fc
      .tuple(pick(['AND', 'OR']), tie('condition'), tie('condition'))
      .map(([word, one, other]) => `(${one} ${word} ${other})`),
    tie('condition').map((inner) => `NOT (${inner})`),
  ),
}))

onEveryEngine('conditions of alerts', (place) => {
  let server: QueryServer
  let rows: readonly { readonly id: number }[]
  before(async () => {
    server = await startQueryServer(place())
    const columns = Object.entries(KINDS).map(([name, { declared }]) => `${name} ${declared}`)
    const made = await server.query(
      `CREATE TABLE v (id Integer PRIMARY KEY, ${columns.join(', ')}) READ SCOPE 'Platform/Market'`,
    )
    assert.equal(made.status, 200, made.text)
    const random = fc.sample(fc.tuple(...NAMES.map(anyValue)), { numRuns: 60, seed: 7 })
    const values = random.map((row, index) => `(${index}, ${row.join(', ')})`)
    const written = await server.query(`INSERT INTO v VALUES ${values.join(', ')}`)
    assert.equal(written.status, 200, written.text)
    rows = readRows((await server.query('SELECT * FROM v ORDER BY id')).text)
  })
  after(() => server.stop())

  function readRows(text: string): readonly { readonly id: number }[] {
    const { Rows } = parseExactly(text) as unknown as { Rows: readonly { id: { rawJSON: string } }[] }
    return Rows.map((row) => ({ ...row, id: Number(row.id.rawJSON) }))
  }

  test('a condition is true for the rows for which the engine finds it true', async () => {
    await fc.assert(
      fc.asyncProperty(condition, async (written) => {
        const reply = await server.query(`SELECT id FROM v WHERE ${written} ORDER BY id`)
        if (reply.status !== 200) {
          assert.throws(() => bindCondition(written, COLUMNS, new Map()), Refusal)
          return
        }
        const evaluate = compileCondition(bindCondition(written, COLUMNS, new Map()))
        const readCells = compileCells(COLUMNS, new Set(COLUMNS.keys()))
        const found = rows.filter((row) => evaluate(readCells({ ...row })) === true).map(({ id }) => id)
        assert.deepEqual(
          found,
          readRows(reply.text).map(({ id }) => id),
          written,
        )
      }),
      { numRuns: 150 },
    )
  })
})
