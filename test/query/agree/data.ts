/** Rows for two tables with columns of every type: tame values, over which most statements succeed, and the limits of each type. */
import type { Choice } from './choice.ts'
import type { ColumnKind } from './kinds.ts'

export interface TableColumn {
  readonly name: string
  readonly kind: ColumnKind
  /** As written in CREATE TABLE. */
  readonly type: string
}

/** Both tables have these columns; `id` is the key. */
export const COLUMNS: readonly TableColumn[] = [
  { name: 'id', kind: 'Integer', type: 'Integer' },
  { name: 'k', kind: 'Integer', type: 'Integer' },
  { name: 'i', kind: 'Integer', type: 'Integer' },
  { name: 'd', kind: 'Decimal', type: 'Decimal(18, 4)' },
  { name: 's', kind: 'Decimal', type: 'Decimal(9, 2)' },
  { name: 'f', kind: 'Decimal', type: 'Decimal(18, 18)' },
  { name: 'w', kind: 'Decimal', type: 'Decimal(18, 0)' },
  { name: 'e', kind: 'Decimal', type: 'Decimal(38, 18)' },
  { name: 'h', kind: 'Decimal', type: 'Decimal(38, 0)' },
  { name: 'x', kind: 'Double', type: 'Double' },
  { name: 'y', kind: 'Double', type: 'Double' },
  { name: 'ok', kind: 'Boolean', type: 'Boolean' },
  { name: 't', kind: 'Text', type: 'Text' },
  { name: 'u', kind: 'Text', type: 'Text' },
  { name: 'ts', kind: 'Timestamp', type: 'Timestamp' },
  { name: 'at', kind: 'Timestamp', type: 'Timestamp' },
  { name: 'dt', kind: 'Date', type: 'Date' },
  { name: 'tm', kind: 'Time', type: 'Time' },
  { name: 'g', kind: 'Uuid', type: 'Uuid' },
  { name: 'j', kind: 'Json', type: 'Json' },
  { name: 'b', kind: 'Binary', type: 'Binary' },
]

const list = (written: (name: string) => string) => COLUMNS.map(({ name }) => `${written(name)} AS ${name}`).join(', ')
const JOINED = new Map([
  ['k', 'b.k + 1'],
  ['t', 'coalesce(v.t, b.t)'],
])

/** Over the two tables, with the same columns; `id` is unique in them too. */
export const VIEWS: ReadonlyMap<string, string> = new Map([
  ['filtered', 'SELECT * FROM a WHERE k IS NULL OR k <> 2'],
  ['joined', `SELECT ${list((name) => JOINED.get(name) ?? `b.${name}`)} FROM b LEFT JOIN filtered AS v ON v.id = b.id`],
  ['both', `SELECT * FROM a UNION ALL SELECT ${list((name) => (name === 'id' ? 'id + 100' : name))} FROM b`],
])

export type Row = Readonly<Record<string, string | boolean | null>>

/** Tame values are far from the limits of their types, so that arithmetic over them seldom fails. */
export function makeRows(choice: Choice, count: number, isTame: boolean): Row[] {
  return Array.from({ length: count }, (_, index) => {
    const cells = COLUMNS.map(({ name }) => [name, name === 'id' ? String(index + 1) : cell(choice, name, isTame)])
    return Object.fromEntries(cells)
  })
}

export function cell(choice: Choice, name: string, isTame: boolean): string | boolean | null {
  if (choice.oneIn(6)) return null
  const [tame, wild] = VALUES[name] ?? []
  if (tame === undefined || wild === undefined) throw new Error(`No values for ${name}`)
  return choice.of(isTame || choice.oneIn(2) ? tame : wild)
}

export const TEXTS: readonly string[] = ['', 'a', 'A', 'b', 'BHP', 'bhp', 'a%', '_', 'x y', '0', '12', '-7', 'true']
export const WILD_TEXTS: readonly string[] = [
  ' ',
  'ß',
  'ẞ',
  'É',
  'é',
  'e\u0301',
  'İ',
  'ı',
  'ς',
  'ΑΣ',
  'ﬁ',
  'ǆ',
  '😀',
  '😀a\u{1F468}\u200D\u{1F469}',
  '\u{10FFFF}',
  '\uFFFD',
  '\uE000',
  '\u00A0x\u00A0',
  "it's",
  '"q"',
  'a\\b',
  '%\\_',
  'line\nbreak',
  '\ttab\r',
  '\u0001',
  '9223372036854775807',
  '9223372036854775808',
  '1e400',
  ' 5',
  '1.50',
  'NaN',
  '2026-02-30',
  '2024-02-29',
  '24:00:00',
  '日本語',
  'ａｂｃ',
]

const TAME_DOUBLES = ['0', '1', '-1', '0.5', '2.25', '-3.75', '100', '0.1', '1e3']
const WILD_DOUBLES = [
  '-0',
  'NaN',
  'Infinity',
  '-Infinity',
  '1.7976931348623157e308',
  '5e-324',
  '2.2250738585072014e-308',
  '9007199254740993',
  '1e21',
  '123456789012345680000',
  '0.1',
  '1e-7',
  '-1.5e-10',
  '0.30000000000000004',
  '9.223372036854775807e18',
  '2.5',
  '-0.5',
]

const TAME_TIMES = ['2026-01-30T10:00:00Z', '2026-01-30T10:03:00.5Z', '2025-12-31T23:59:59Z', '2024-02-29T12:00:00Z']
const WILD_TIMES = [
  '0001-01-01T00:00:00Z',
  '9999-12-31T23:59:59.999999Z',
  '1970-01-01T00:00:00Z',
  '1969-12-31T23:59:59.999999Z',
  '2026-01-31T09:30:00.000001Z',
  '2000-01-03T00:00:00Z',
  '1999-12-31T00:00:00.1Z',
  '1900-02-28T23:59:59.999999Z',
  '0004-02-29T00:00:00Z',
]

/** The tame and the extreme values of each column. */
const VALUES: Readonly<Record<string, readonly [readonly (string | boolean)[], readonly (string | boolean)[]]>> = {
  k: [
    ['0', '1', '2', '3'],
    ['0', '1', '-1'],
  ],
  i: [
    ['0', '1', '-1', '2', '7', '-13', '100'],
    [
      '9223372036854775807',
      '-9223372036854775808',
      '9223372036854775806',
      '4294967296',
      '-2147483649',
      '9007199254740993',
    ],
  ],
  d: [
    ['0', '1', '-1', '45.1', '0.0001', '-2.5', '2.5', '3.4999'],
    ['99999999999999.9999', '-99999999999999.9999', '0.00005e1', '12345678901234.5678'],
  ],
  s: [
    ['0.00', '1', '-1.5', '2.25', '0.5', '10'],
    ['9999999.99', '-9999999.99', '0.01', '-0.01'],
  ],
  f: [
    ['0', '0.5', '-0.5', '0.25', '0.1'],
    ['0.999999999999999999', '-0.999999999999999999', '0.000000000000000001', '-0.000000000000000001'],
  ],
  w: [
    ['0', '1', '-2', '3', '1000'],
    ['999999999999999999', '-999999999999999999', '500000000000000000'],
  ],
  e: [
    ['0', '1', '-1', '2.25', '0.000000000000000001', '-45.1'],
    ['99999999999999999999.999999999999999999', '-99999999999999999999.999999999999999999', '9223372036854775808'],
  ],
  h: [
    ['0', '1', '-2', '1000'],
    ['99999999999999999999999999999999999999', '-99999999999999999999999999999999999999', '-9223372036854775809'],
  ],
  x: [TAME_DOUBLES, WILD_DOUBLES],
  y: [TAME_DOUBLES, WILD_DOUBLES],
  ok: [
    [true, false],
    [true, false],
  ],
  t: [TEXTS, WILD_TEXTS],
  u: [['a', 'b', 'c', 'B', ''], WILD_TEXTS],
  ts: [TAME_TIMES, WILD_TIMES],
  at: [TAME_TIMES, WILD_TIMES],
  dt: [
    ['2026-01-30', '2026-01-31', '2024-02-29', '2025-12-29'],
    ['0001-01-01', '9999-12-31', '1970-01-01', '1900-03-01', '2000-01-03'],
  ],
  tm: [
    ['00:00:00', '09:30:00', '10:15:30.5', '12:00:00'],
    ['23:59:59.999999', '00:00:00.000001', '12:34:56.789012'],
  ],
  g: [
    ['123e4567-e89b-12d3-a456-426614174000', '00000000-0000-0000-0000-000000000000'],
    ['ffffffff-ffff-ffff-ffff-ffffffffffff', 'FFFFFFFF-0000-4000-8000-000000000001'],
  ],
  j: [
    ['{"a": 1}', '{"a": "x", "b": null}', '[1, "two", [3]]', '{"a": {"b": true}}', '"text"', 'null', '42', '[]'],
    [
      '{"a": 1.50, "a": 2}',
      '{"a":9223372036854775808}',
      '{"\\u0061": "\\u00e9\\ud83d\\ude00"}',
      '[1e400, -0, 1.0]',
      '{"": "\\"", "a": "\\\\\\n"}',
      '{ "b" : [ 1 , 2 ] }',
      '"\\ud800"',
    ],
  ],
  b: [
    ['', 'AA==', '/w==', 'AAEC'],
    ['AAAA', '//////8=', 'Jw==', 'gA=='],
  ],
}
