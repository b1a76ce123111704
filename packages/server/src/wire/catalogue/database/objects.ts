/** The tables of one set of scopes as objects of PostgreSQL: with object ids, names of keys, and types. */
import type { IqlType } from 'gatehouse-iql'
import type { TableDefinition } from '../../../query/catalogue/definition.ts'
import { OID } from '../data/types.ts'

/** What a set of scopes sees of a table. */
export interface VisibleTable {
  readonly definition: Omit<TableDefinition, 'rowFilter' | 'readScope' | 'writeScope' | 'stepUp'>
  readonly isWritable: boolean
}

export interface TableObject {
  readonly oid: number
  readonly rowType: number
  readonly arrayType: number
  readonly name: string
  readonly kind: 'r' | 'v'
  readonly description: string | undefined
  /** The query of a view. */
  readonly viewText: string | undefined
  readonly columns: readonly ColumnObject[]
  readonly indexes: readonly IndexObject[]
  readonly constraints: readonly ConstraintObject[]
  readonly isWritable: boolean
}

export interface ColumnObject {
  readonly name: string
  readonly number: number
  readonly type: number
  readonly modifier: number
  readonly isRequired: boolean
  readonly default: { readonly oid: number; readonly text: string } | undefined
}

export interface IndexObject {
  readonly oid: number
  readonly name: string
  readonly isUnique: boolean
  readonly isPrimary: boolean
  readonly columns: readonly { readonly column: ColumnObject; readonly isDescending: boolean }[]
}

export interface ConstraintObject {
  readonly oid: number
  readonly name: string
  readonly kind: 'p' | 'u' | 'c'
  /** 0 for a check. */
  readonly index: number
  readonly columns: readonly ColumnObject[]
  /** The condition of a check. */
  readonly condition: string | undefined
}

/** PostgreSQL's first id for objects of users. */
const FIRST_OID = 16384
export const DATABASE_OID = FIRST_OID
export const CALLER_OID = FIRST_OID + 1
export const OWNER_OID = 10
/** Each table has this many ids, for itself, its types, indexes, constraints and defaults. */
const IDS_PER_TABLE = 4096
/** The ids before these are for the table and its types. */
const FIRST_PART = 16
const MAX_TABLES = 2 ** 20 - 16

export function tableObject({ definition, isWritable }: VisibleTable): TableObject {
  const { name, id = 0, view } = definition
  const oid = FIRST_OID + (1 + (id % MAX_TABLES)) * IDS_PER_TABLE
  const idOf = partIds(oid)
  const columns = definition.columns.map((column, index): ColumnObject => {
    const { type, modifier } = postgresType(column.type)
    const text = column.default
    return {
      name: column.name,
      number: index + 1,
      type,
      modifier,
      isRequired: !column.nullable && view === undefined,
      default: text === undefined ? undefined : { oid: idOf(`default ${column.name}`), text },
    }
  })
  const find = (names: readonly string[]): ColumnObject[] => names.flatMap((one) => columns.find((column) => column.name === one) ?? [])
  const keys = [
    ...(definition.primaryKey.length === 0 ? [] : [{ name: shortName(`${name}_pkey`), isPrimary: true, columns: find(definition.primaryKey) }]),
    ...definition.uniques.map((unique) => ({ name: shortName(`${name}_${unique.join('_')}_key`), isPrimary: false, columns: find(unique) })),
  ]
  const keyIndexes = keys.map(
    (key): IndexObject => ({
      oid: idOf(`index ${key.name}`),
      name: key.name,
      isUnique: true,
      isPrimary: key.isPrimary,
      columns: key.columns.map((column) => ({ column, isDescending: false })),
    }),
  )
  const indexes = definition.indexes.map(
    (index): IndexObject => ({
      oid: idOf(`index ${index.name}`),
      name: index.name,
      isUnique: index.unique,
      isPrimary: false,
      columns: index.columns.flatMap((part) => find([part.name]).map((column) => ({ column, isDescending: part.descending }))),
    }),
  )
  const constraints = [
    ...keys.map(
      (key, index): ConstraintObject => ({
        oid: idOf(`constraint ${key.name}`),
        name: key.name,
        kind: key.isPrimary ? 'p' : 'u',
        index: keyIndexes[index]?.oid ?? 0,
        columns: key.columns,
        condition: undefined,
      }),
    ),
    ...(definition.checks ?? []).map(
      (check): ConstraintObject => ({ oid: idOf(`constraint ${check.name}`), name: check.name, kind: 'c', index: 0, columns: [], condition: check.condition }),
    ),
  ]
  return {
    oid,
    rowType: oid + 2,
    arrayType: oid + 1,
    name,
    kind: view === undefined ? 'r' : 'v',
    description: definition.description,
    viewText: view?.text,
    columns,
    indexes: [...keyIndexes, ...indexes],
    constraints,
    isWritable,
  }
}

/** By name, so that an index keeps its id when another one is dropped; the next free id if two names meet. */
function partIds(oid: number): (name: string) => number {
  const taken = new Set<number>()
  return (name) => {
    let hash = 0x811c9dc5
    for (let at = 0; at < name.length; at++) hash = Math.imul(hash ^ name.charCodeAt(at), 0x01000193) >>> 0
    let part = hash % (IDS_PER_TABLE - FIRST_PART)
    while (taken.has(part) && taken.size < IDS_PER_TABLE - FIRST_PART) part = (part + 1) % (IDS_PER_TABLE - FIRST_PART)
    taken.add(part)
    return oid + FIRST_PART + part
  }
}

/** PostgreSQL's names have at most 63 bytes. */
function shortName(name: string): string {
  return name.length <= 63 ? name : name.slice(0, 63)
}

const TYPES: Readonly<Record<IqlType['kind'], number>> = {
  Text: OID.text,
  Integer: OID.int8,
  Decimal: OID.numeric,
  Double: OID.float8,
  Boolean: OID.bool,
  Timestamp: OID.timestamptz,
  LocalTimestamp: OID.timestamp,
  Date: OID.date,
  Time: OID.time,
  Uuid: OID.uuid,
  Json: OID.json,
  Binary: OID.bytea,
  Interval: OID.interval,
  Null: OID.text,
}

function postgresType(type: IqlType): { readonly type: number; readonly modifier: number } {
  const modifier = type.kind === 'Decimal' ? type.precision * 65_536 + type.scale + 4 : -1
  return { type: TYPES[type.kind], modifier }
}
