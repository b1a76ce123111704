/** PostgreSQL's types: object ids, sizes, and the type of each IQL type. */
import {
  BINARY,
  BOOLEAN,
  DATE,
  DOUBLE,
  decimal,
  INTEGER,
  INTERVAL,
  type IqlType,
  JSON_TYPE,
  LOCAL_TIMESTAMP,
  TEXT,
  TIME,
  TIMESTAMP,
  UUID,
} from 'gatehouse-iql'

/** A type that clients may declare parameters as. */
interface PostgresType {
  readonly oid: number
  /** The array of it. */
  readonly array: number
  /** Bytes of a value in binary; -1 if they vary. */
  readonly size: number
  /** The IQL type of a parameter that is declared so, where the statement does not determine one. */
  readonly iql: IqlType
}

/** A numeric without digits of its own: 38 digits, of which 10 follow the point. */
const NUMERIC = decimal(38, 10)

export const POSTGRES_TYPES = {
  bool: entry(16, 1000, 1, BOOLEAN),
  bytea: entry(17, 1001, -1, BINARY),
  char: entry(18, 1002, 1, TEXT),
  name: entry(19, 1003, 64, TEXT),
  int8: entry(20, 1016, 8, INTEGER),
  int2: entry(21, 1005, 2, INTEGER),
  int4: entry(23, 1007, 4, INTEGER),
  text: entry(25, 1009, -1, TEXT),
  oid: entry(26, 1028, 4, INTEGER),
  json: entry(114, 199, -1, JSON_TYPE),
  float4: entry(700, 1021, 4, DOUBLE),
  float8: entry(701, 1022, 8, DOUBLE),
  unknown: entry(705, 0, -2, TEXT),
  bpchar: entry(1042, 1014, -1, TEXT),
  varchar: entry(1043, 1015, -1, TEXT),
  date: entry(1082, 1182, 4, DATE),
  time: entry(1083, 1183, 8, TIME),
  timestamp: entry(1114, 1115, 8, LOCAL_TIMESTAMP),
  timestamptz: entry(1184, 1185, 8, TIMESTAMP),
  interval: entry(1186, 1187, 16, INTERVAL),
  numeric: entry(1700, 1231, -1, NUMERIC),
  uuid: entry(2950, 2951, 16, UUID),
  jsonb: entry(3802, 3807, -1, JSON_TYPE),
} as const satisfies Record<string, PostgresType>

function entry(oid: number, array: number, size: number, iql: IqlType): PostgresType {
  return { oid, array, size, iql }
}

export type PostgresTypeName = keyof typeof POSTGRES_TYPES

const BY_NAME: ReadonlyMap<string, PostgresType> = new Map<string, PostgresType>([
  ...Object.entries(POSTGRES_TYPES),
  ['"char"', POSTGRES_TYPES.char],
  ['char', POSTGRES_TYPES.bpchar],
  ['character', POSTGRES_TYPES.bpchar],
  ['character varying', POSTGRES_TYPES.varchar],
  ['smallint', POSTGRES_TYPES.int2],
  ['int', POSTGRES_TYPES.int4],
  ['integer', POSTGRES_TYPES.int4],
  ['bigint', POSTGRES_TYPES.int8],
  ['decimal', POSTGRES_TYPES.numeric],
  ['real', POSTGRES_TYPES.float4],
  ['float', POSTGRES_TYPES.float8],
  ['double precision', POSTGRES_TYPES.float8],
  ['boolean', POSTGRES_TYPES.bool],
  ['timestamp with time zone', POSTGRES_TYPES.timestamptz],
  ['timestamp without time zone', POSTGRES_TYPES.timestamp],
  ['time without time zone', POSTGRES_TYPES.time],
])

const NAMES = new Map<number, PostgresTypeName>()
const ELEMENTS = new Map<number, PostgresTypeName>()
for (const name of Object.keys(POSTGRES_TYPES) as PostgresTypeName[]) {
  NAMES.set(POSTGRES_TYPES[name].oid, name)
  if (POSTGRES_TYPES[name].array !== 0) ELEMENTS.set(POSTGRES_TYPES[name].array, name)
}

/** Undefined for a type that parameters cannot have here. */
export function typeNamed(oid: number): PostgresTypeName | undefined {
  return NAMES.get(oid)
}

/** By its name in SQL, in lower case; quoted where that matters, as in "char". Undefined for a type that parameters cannot have here. */
export function oidNamed(name: string, isArray: boolean): number | undefined {
  const type = BY_NAME.get(name) ?? BY_NAME.get(name.replaceAll('"', ''))
  return isArray ? type?.array : type?.oid
}

/** The type of the elements of an array; undefined for other types. */
export function elementType(oid: number): PostgresTypeName | undefined {
  return ELEMENTS.get(oid)
}

const NAME_OF: Readonly<Record<IqlType['kind'], PostgresTypeName>> = {
  Text: 'text',
  Integer: 'int8',
  Decimal: 'numeric',
  Double: 'float8',
  Boolean: 'bool',
  Timestamp: 'timestamptz',
  LocalTimestamp: 'timestamp',
  Date: 'date',
  Time: 'time',
  Uuid: 'uuid',
  Json: 'json',
  Binary: 'bytea',
  Interval: 'interval',
  Null: 'text',
}

export function postgresTypeOf({ kind }: IqlType): PostgresTypeName {
  return NAME_OF[kind]
}

export function oidOf(type: IqlType): number {
  return POSTGRES_TYPES[NAME_OF[type.kind]].oid
}

export function sizeOfType(oid: number): number {
  const name = NAMES.get(oid)
  return name === undefined ? -1 : POSTGRES_TYPES[name].size
}

/** numeric(p, s) tells its digits; other types have no modifier. */
export function modifierOf(type: IqlType): number {
  return type.kind === 'Decimal' ? ((type.precision << 16) | type.scale) + 4 : -1
}
