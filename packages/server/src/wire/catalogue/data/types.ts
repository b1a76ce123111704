/** The types of PostgreSQL by OID, and how their values are kept in SQLite: arrays as JSON, Booleans as 0 and 1, object ids as integers. */
import { TYPE_COLUMNS, TYPE_LINES } from './postgres-catalogue.ts'

export const OID = {
  bool: 16,
  bytea: 17,
  char: 18,
  name: 19,
  int8: 20,
  int2: 21,
  int2vector: 22,
  int4: 23,
  regproc: 24,
  text: 25,
  oid: 26,
  xid: 28,
  oidvector: 30,
  json: 114,
  float4: 700,
  float8: 701,
  unknown: 705,
  date: 1082,
  time: 1083,
  timestamp: 1114,
  timestamptz: 1184,
  interval: 1186,
  varchar: 1043,
  bpchar: 1042,
  numeric: 1700,
  record: 2249,
  regprocedure: 2202,
  regoper: 2203,
  regclass: 2205,
  regtype: 2206,
  anyarray: 2277,
  void: 2278,
  uuid: 2950,
  regnamespace: 4089,
  regrole: 4096,
} as const

/** A row of pg_type, by column. */
export type TypeRow = ReadonlyMap<string, string>

const columns = TYPE_COLUMNS.split(' ')

export const TYPE_ROWS: readonly TypeRow[] = TYPE_LINES.trim()
  .split('\n')
  .map((line) => {
    const values = line.split(' ')
    return new Map(columns.map((column, index) => [column, values[index] ?? '']))
  })

const byName = new Map(TYPE_ROWS.map((row) => [row.get('typname') ?? '', Number(row.get('oid'))]))
const byOid = new Map(TYPE_ROWS.map((row) => [Number(row.get('oid')), row]))

/** Names of the SQL standard, domains of information_schema, and the names of types that are not spelled as pg_type does. */
const OTHER_NAMES: ReadonlyMap<string, number> = new Map([
  ['int', OID.int4],
  ['integer', OID.int4],
  ['smallint', OID.int2],
  ['bigint', OID.int8],
  ['boolean', OID.bool],
  ['character', OID.bpchar],
  ['string', OID.text],
  ['decimal', OID.numeric],
  ['real', OID.float4],
  ['float', OID.float8],
  ['double', OID.float8],
  ['sql_identifier', OID.name],
  ['character_data', OID.varchar],
  ['yes_or_no', OID.varchar],
  ['cardinal_number', OID.int4],
  ['time_stamp', OID.timestamptz],
])

/** How format_type and errors name types whose names differ from pg_type's. */
const STANDARD_NAMES: ReadonlyMap<number, string> = new Map<number, string>([
  [OID.bool, 'boolean'],
  [OID.char, '"char"'],
  [OID.int2, 'smallint'],
  [OID.int4, 'integer'],
  [OID.int8, 'bigint'],
  [OID.float4, 'real'],
  [OID.float8, 'double precision'],
  [OID.varchar, 'character varying'],
  [OID.bpchar, 'character'],
  [OID.time, 'time without time zone'],
  [1266, 'time with time zone'],
  [OID.timestamp, 'timestamp without time zone'],
  [OID.timestamptz, 'timestamp with time zone'],
  [1560, 'bit'],
  [1562, 'bit varying'],
])

export function typeRow(oid: number): TypeRow | undefined {
  return byOid.get(oid)
}

/** The OID of a type's name: pg_type's, or the standard's, also as format_type writes it. */
export function findType(name: string, isExact = false): number | undefined {
  // CHAR is character(1); only in quotes or with its schema it is the type of one byte.
  if (name === 'char' && !isExact) return OID.bpchar
  const known = byName.get(name) ?? OTHER_NAMES.get(name)
  if (known !== undefined) return known
  for (const [oid, standard] of STANDARD_NAMES) if (standard === name) return oid
  if (!name.endsWith('[]')) return undefined
  const element = findType(name.slice(0, -2))
  return element === undefined ? undefined : arrayTypeOid(element)
}

export function typeName(oid: number): string {
  return byOid.get(oid)?.get('typname') ?? 'unknown'
}

export function standardName(oid: number): string {
  const element = elementTypeOid(oid)
  if (element !== undefined && !isVector(oid)) return `${standardName(element)}[]`
  return STANDARD_NAMES.get(oid) ?? typeName(oid)
}

/** Their text form is a list with blanks, and their first element has the index 0. */
export function isVector(oid: number): boolean {
  return oid === OID.int2vector || oid === OID.oidvector
}

export function arrayTypeOid(element: number): number {
  return Number(byOid.get(element === OID.unknown ? OID.text : element)?.get('typarray') ?? 0) || OID.anyarray
}

/** The type of an array's elements; undefined if it is not an array. */
export function elementTypeOid(oid: number): number | undefined {
  const row = byOid.get(oid)
  if (row === undefined || oid === OID.name || row.get('typcategory') !== 'A') return undefined
  return Number(row.get('typelem')) || undefined
}

export type Representation = 'integer' | 'real' | 'boolean' | 'array' | 'text'

const INTEGERS: ReadonlySet<number> = new Set([
  ...[OID.int2, OID.int4, OID.int8, OID.oid, OID.xid, OID.regproc, OID.regclass, OID.regtype, OID.regnamespace],
  ...[OID.regrole, OID.regprocedure, OID.regoper, 29, 2204, 3734, 3769, 4191],
])
const REALS: ReadonlySet<number> = new Set([OID.float4, OID.float8, OID.numeric])

export function findRepresentation(oid: number): Representation {
  if (oid === OID.bool) return 'boolean'
  if (INTEGERS.has(oid)) return 'integer'
  if (REALS.has(oid)) return 'real'
  return oid === OID.anyarray || elementTypeOid(oid) !== undefined ? 'array' : 'text'
}

/** Object ids that are shown by the name of their object. */
const NAMED_IDS: ReadonlySet<number> = new Set([
  ...[OID.regproc, OID.regprocedure, OID.regclass, OID.regtype, OID.regnamespace, OID.regrole],
])

export function isNamedId(oid: number): boolean {
  return NAMED_IDS.has(oid)
}
