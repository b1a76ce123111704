/** What the text encoders write is read back exactly: by JSON.parse, which is asked for the digits of numbers, and by the CSV reader. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc, { type Arbitrary } from 'fast-check'
import { parseCsvRecord } from 'gatehouse-csv'
import {
  BINARY,
  BOOLEAN,
  DATE,
  DOUBLE,
  decimal,
  INTEGER,
  type IqlType,
  JSON_TYPE,
  MAX_DATE,
  MAX_TIMESTAMP,
  MIN_DATE,
  MIN_TIMESTAMP,
  NULL,
  type ResultColumn,
  TEXT,
  TIME,
  TIMESTAMP,
  typeName,
  UUID,
  writeDate,
  writeDecimal,
  writeTime,
  writeTimestamp,
} from 'gatehouse-iql'
import { splitCsv } from '../../packages/server/src/declarative/csv-file.ts'
import type { Cell, TextEncoding } from '../../packages/server/src/query/model/result.ts'
import { endOfText, TextEncoders } from '../../packages/server/src/query/results/encoders.ts'
import { anyText } from '../support/any-text.ts'

const ODD_TEXTS = [
  '',
  ' ',
  ' a',
  'a ',
  'a,b',
  '"',
  '""',
  '\\',
  '\t',
  '\r',
  '\n',
  '\r\n',
  '\0',
  '\x1f',
  '\x7f',
  '\ufeff',
]
  .concat([
    '\u00a0x',
    'é',
    '日本',
    '😀',
    '\ud800',
    'a\udc00b',
    '\u2028\u2029',
    '=1+1',
    'null',
    'NULL',
    '1',
    'é'.repeat(100),
  ])
  .concat(['x'.repeat(70_000), '"'.repeat(70_000)])
const ODD_INTEGERS = [
  0n,
  -1n,
  2n ** 53n - 1n,
  2n ** 53n,
  2n ** 53n + 1n,
  -(2n ** 53n) - 1n,
  2n ** 63n - 1n,
  -(2n ** 63n),
]
const ODD_DOUBLES = [
  0,
  -0,
  0.1 + 0.2,
  1e-7,
  1e20,
  1e21,
  2 ** 53 + 2,
  5e-324,
  Number.MAX_VALUE,
  NaN,
  Infinity,
  -Infinity,
]
const ODD_JSON = [
  '{"a":\r\n[1,\t2]}',
  '"\\r\\n é \\ud800"',
  '1.10',
  '-0',
  '1E400',
  '12345678901234567890',
  'null',
  '""',
]
const ODD_NAMES = ['__proto__', '1', ' ', 'a,b', 'Größe', '😀', '\ufeff', 'constructor']
const ESCAPED_NAMES = ['a "quoted", name', '\r\n', '\\', '\t']

const anyInteger = fc.oneof(fc.constantFrom(...ODD_INTEGERS), between(-(2n ** 63n), 2n ** 63n - 1n))

/** The cells of every type that a result can have. */
const CELLS: readonly { readonly type: IqlType; readonly cells: Arbitrary<Cell> }[] = [
  { type: TEXT, cells: fc.oneof(fc.constantFrom(...ODD_TEXTS), fc.string(), anyText()) },
  { type: INTEGER, cells: fc.oneof(anyInteger, anyInteger.map(String), fc.maxSafeInteger()) },
  {
    type: DOUBLE,
    cells: fc.oneof(
      fc.constantFrom(...ODD_DOUBLES),
      fc.double(),
      fc.integer().map((n) => n / 10_000),
    ),
  },
  { type: BOOLEAN, cells: fc.boolean() },
  { type: decimal(18, 4), cells: between(1n - 10n ** 18n, 10n ** 18n - 1n).map((n) => writeDecimal(n, 4)) },
  { type: decimal(38, 10), cells: between(1n - 10n ** 38n, 10n ** 38n - 1n).map((n) => writeDecimal(n, 10)) },
  { type: TIMESTAMP, cells: between(MIN_TIMESTAMP, MAX_TIMESTAMP).map(writeTimestamp) },
  { type: DATE, cells: between(MIN_DATE, MAX_DATE).map(writeDate) },
  { type: TIME, cells: between(0n, 86_399_999_999n).map(writeTime) },
  { type: UUID, cells: fc.uuid() },
  {
    type: JSON_TYPE,
    cells: fc.oneof(fc.constantFrom(...ODD_JSON), fc.json({ stringUnit: fc.constantFrom(...'ab é😀') })),
  },
  { type: BINARY, cells: fc.uint8Array({ maxLength: 100 }) },
  { type: NULL, cells: fc.constant(null) },
]

function between(min: bigint, max: bigint): Arbitrary<bigint> {
  return fc.bigInt({ min, max })
}

interface Table {
  readonly columns: readonly ResultColumn[]
  readonly rows: readonly (readonly Cell[])[]
}

/** V8 13.6 may read an escaped name as another (https://github.com/nodejs/node/issues/63785), so JSON is read back without such names. */
const unescapedName = fc
  .oneof(fc.constantFrom(...ODD_NAMES), anyText({ minLength: 1 }))
  .filter((name) => JSON.stringify(name).length === name.length + 2)
const anyName = fc.oneof(unescapedName, fc.constantFrom(...ESCAPED_NAMES))

/** At least two columns: in CSV a row with a single NULL is an empty line, which readers skip. */
function tables(names: Arbitrary<string>): Arbitrary<Table> {
  return fc
    .uniqueArray(fc.tuple(names, fc.constantFrom(...CELLS)), {
      minLength: 2,
      maxLength: 6,
      selector: ([name]) => name.toLowerCase(),
    })
    .chain((chosen) =>
      fc.record({
        columns: fc.constant(chosen.map(([name, { type }]) => ({ name, type, nullable: true }))),
        rows: fc.array(fc.tuple(...chosen.map(([, { cells }]) => fc.option(cells, { freq: 4 })))),
      }),
    )
}

/** Some rows at a time, as a long result is sent. */
function toBytes({ columns, rows }: Table, encoding: TextEncoding): Buffer {
  const encoder = new TextEncoders(columns).create(encoding)
  const chunks: Uint8Array[] = []
  for (const [index, row] of rows.entries()) {
    encoder.add(row)
    if (index % 3 === 2) chunks.push(encoder.take())
  }
  const outcome = { rowCount: rows.length, truncated: 'no', lastKey: [] } as const
  const end = endOfText(encoding, outcome, { requestId: 'r', elapsedMs: 1, isTruncated: false })
  return Buffer.concat([...chunks, encoder.take(), Buffer.from(end)])
}

/** A number with the digits that were written. */
class Numeral {
  readonly digits: string

  constructor(digits: string) {
    this.digits = digits
  }
}

/** The library's types lack the third parameter. */
type ExactParse = (text: string, revive: (key: string, value: unknown, at: { source: string }) => unknown) => unknown

function parseExactly(text: string): unknown {
  const parse: ExactParse = JSON.parse as ExactParse
  return parse(text, (_key, value, { source }) => (typeof value === 'number' ? new Numeral(source) : value))
}

/** The value of a cell in one form for each type. */
function valueOfCell({ type }: ResultColumn, cell: Cell): unknown {
  if (cell === null) return null
  if (type.kind === 'Integer') return BigInt(String(cell))
  if (type.kind === 'Json') return parseExactly(String(cell))
  if (type.kind === 'Binary' && cell instanceof Uint8Array) return Buffer.from(cell)
  return Object.is(cell, -0) ? 0 : cell
}

function valueOfJson({ type }: ResultColumn, json: unknown, { integers }: TextEncoding): unknown {
  if (json === null) return null
  switch (type.kind) {
    case 'Integer':
      return BigInt(integers === 'numbers' ? countDigits(json) : readText(json))
    case 'Double':
      return json instanceof Numeral ? Number(json.digits) : notFinite(readText(json))
    case 'Boolean':
    case 'Json':
      return json
    case 'Binary':
      return bytesOfBase64(readText(json))
    default:
      return readText(json)
  }
}

function valueOfField({ type }: ResultColumn, field: string | null): unknown {
  if (field === null) return null
  switch (type.kind) {
    case 'Integer':
      return BigInt(field)
    case 'Double':
      return Number(field)
    case 'Boolean':
    case 'Json':
      return parseExactly(field)
    case 'Binary':
      return bytesOfBase64(field)
    default:
      return field
  }
}

function countDigits(json: unknown): string {
  assert.ok(json instanceof Numeral, `${json} is not a number`)
  return json.digits
}

function readText(json: unknown): string {
  assert.ok(typeof json === 'string', `${json} is not a text`)
  return json
}

function notFinite(text: string): number {
  assert.match(text, /^(NaN|-?Infinity)$/)
  return Number(text)
}

function bytesOfBase64(text: string): Buffer {
  const bytes = Buffer.from(text, 'base64')
  assert.equal(bytes.toString('base64'), text)
  return bytes
}

function readValues({ columns, rows }: Table): unknown[][] {
  return rows.map((row) => columns.map((column, index) => valueOfCell(column, row[index] ?? null)))
}

function valuesOfJson(columns: readonly ResultColumn[], row: unknown, encoding: TextEncoding): unknown[] {
  assert.ok(typeof row === 'object' && row !== null)
  assert.equal(Array.isArray(row), encoding.rows === 'arrays')
  const members = new Map(Object.entries(row))
  assert.equal(members.size, columns.length)
  return columns.map((column, index) =>
    valueOfJson(column, members.get(Array.isArray(row) ? String(index) : column.name), encoding),
  )
}

function readDescription(columns: readonly ResultColumn[]): unknown {
  return columns.map(({ name, type }, index) => [
    name,
    { Ordinal: new Numeral(String(index)), Type: typeName(type), Nullable: true },
  ])
}

/** In the order of their ordinals: members that look like indexes come first. */
function describedIn(columns: object): unknown {
  return Object.entries(columns).sort(([, a], [, b]) => a.Ordinal.digits - b.Ordinal.digits)
}

for (const rows of ['objects', 'arrays'] as const) {
  for (const integers of ['numbers', 'strings'] as const) {
    test(`JSON, rows as ${rows}, integers as ${integers}`, () => {
      const encoding: TextEncoding = { format: 'json', rows, integers }
      fc.assert(
        fc.property(tables(unescapedName), (table) => {
          const result = parseExactly(toBytes(table, encoding).toString()) as { Columns: object; Rows: unknown[] }
          assert.deepEqual(describedIn(result.Columns), readDescription(table.columns))
          const values = result.Rows.map((row) => valuesOfJson(table.columns, row, encoding))
          assert.deepEqual(values, readValues(table))
        }),
      )
    })

    for (const header of ['none', 'columns'] as const)
      test(`NDJSON, rows as ${rows}, integers as ${integers}, header: ${header}`, () => {
        const encoding: TextEncoding = { format: 'ndjson', rows, integers, header }
        fc.assert(
          fc.property(tables(unescapedName), (table) => {
            const lines = toBytes(table, encoding).toString().split('\n')
            assert.equal(lines.pop(), '')
            if (header === 'columns') {
              const { Columns } = parseExactly(lines.shift() ?? '') as { Columns: object }
              assert.deepEqual(describedIn(Columns), readDescription(table.columns))
            }
            const values = lines.map((line) => valuesOfJson(table.columns, parseExactly(line), encoding))
            assert.deepEqual(values, readValues(table))
          }),
        )
      })
  }
}

test('names are escaped in JSON', () => {
  const columns = ESCAPED_NAMES.map((name) => ({ name, type: INTEGER, nullable: true }))
  const text = toBytes({ columns, rows: [[1, 2, 3, 4]] }, { format: 'ndjson', rows: 'objects', integers: 'numbers' })
  assert.equal(text.toString(), '{"a \\"quoted\\", name":1,"\\r\\n":2,"\\\\":3,"\\t":4}\n')
})

test('CSV', async () => {
  const encoding: TextEncoding = { format: 'csv', rows: 'objects', integers: 'numbers' }
  await fc.assert(
    fc.asyncProperty(tables(anyName), async (table) => {
      const { columns } = table
      const records = await Array.fromAsync(splitCsv([toBytes(table, encoding)], 0, 1))
      const [names, ...rows] = records.map(({ raw }) => {
        const record = parseCsvRecord(raw)
        assert.ok('fields' in record, raw)
        assert.equal(record.fields.length, columns.length)
        return record.fields
      })
      assert.deepEqual(
        names,
        columns.map(({ name }) => name),
      )
      const values = rows.map((row) => columns.map((column, index) => valueOfField(column, row[index] ?? null)))
      assert.deepEqual(values, readValues({ columns, rows: table.rows.map((row) => row.map(asInCsv)) }))
    }),
  )
})

/** UTF-8 has no lone surrogates, and CSV no way to escape them. */
function asInCsv(cell: Cell): Cell {
  return typeof cell === 'string' ? cell.toWellFormed() : cell
}
