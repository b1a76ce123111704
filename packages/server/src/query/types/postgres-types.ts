/** PostgreSQL's types: object ids and sizes. */
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
export interface PostgresType {
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
