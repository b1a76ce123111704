/** PostgreSQL's types by their names and object ids, and the type of each IQL type. */
import type { IqlType } from 'gatehouse-iql'
import { POSTGRES_TYPES, type PostgresType, type PostgresTypeName, representation } from '../../query/codecs.ts'

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

export function postgresType(type: IqlType): PostgresTypeName {
  return representation(type).wire.type
}

export function typeOid(type: IqlType): number {
  return POSTGRES_TYPES[postgresType(type)].oid
}

export function sizeOfType(oid: number): number {
  const name = NAMES.get(oid)
  return name === undefined ? -1 : POSTGRES_TYPES[name].size
}

/** numeric(p, s) tells its digits; other types have no modifier. */
export function typeModifier(type: IqlType): number {
  return type.kind === 'Decimal' ? ((type.precision << 16) | type.scale) + 4 : -1
}
