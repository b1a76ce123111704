/** The tables of one set of scopes as objects of PostgreSQL: with object ids, names of keys, and types. */
import type { IqlType } from 'gatehouse-iql'
import type { TableDefinition } from '../../../query/index.ts'
import { OID } from '../data/types.ts'

/** What a set of scopes sees of a table, as JSON that is quick to write and read. */
export interface VisibleTable {
  readonly id: number
  readonly name: string
  readonly description: string | undefined
  /** The query of a view of either kind. */
  readonly view: string | undefined
  /** Set for a materialized view: whether its rows can be read. */
  readonly isPopulated: boolean | undefined
  readonly columns: readonly VisibleColumn[]
  readonly primaryKey: readonly string[]
  readonly uniques: readonly (readonly string[])[]
  readonly indexes: TableDefinition['indexes']
  readonly checks: TableDefinition['checks']
  readonly isWritable: boolean
}

type VisibleColumn = readonly [
  name: string,
  type: number,
  modifier: number,
  isRequired: boolean,
  default_: string | null,
]

/** Without scopes and row filters, which are not used here. */
export function visibleTable(definition: TableDefinition, isWritable: boolean): VisibleTable {
  const { id = 0, name, description, view, kept, keptState, primaryKey, uniques, indexes, checks } = definition
  const isPopulated = kept && keptState?.state === 'ready'
  const columns = definition.columns.map((column): VisibleColumn => {
    const modifier = column.type.kind === 'Decimal' ? column.type.precision * 65_536 + column.type.scale + 4 : -1
    return [
      column.name,
      TYPES[column.type.kind],
      modifier,
      !column.nullable && view === undefined,
      column.default ?? null,
    ]
  })
  const text = (view ?? kept)?.text
  return { id, name, description, view: text, isPopulated, columns, primaryKey, uniques, indexes, checks, isWritable }
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
  readonly columnCount: number
  readonly columns: readonly IndexColumn[]
}

export interface IndexColumn {
  readonly column: ColumnObject
  readonly isDescending: boolean
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
/** Each table has this many ids: for itself, its two types, and three equal ranges for its defaults, indexes and constraints. */
const IDS_PER_TABLE = 4096
const FIRST_PART = 16
const PARTS = (IDS_PER_TABLE - FIRST_PART) / 3
const MAX_TABLES = 2 ** 20 - 16

/** The object id of a table, derived from the number that is stored with it. */
export function tableOid(id: number): number {
  return FIRST_OID + (1 + (id % MAX_TABLES)) * IDS_PER_TABLE
}

/** The id of the table that an object belongs to. */
export function owningTableOid(oid: number): number {
  return oid - ((oid - FIRST_OID) % IDS_PER_TABLE)
}

/** Its parts are made when they are first read: most statements need those of a few tables. */
export class TableObject {
  readonly #table: VisibleTable
  readonly oid: number
  #columns: readonly ColumnObject[] | undefined
  #indexes: readonly IndexObject[] | undefined
  #constraints: readonly ConstraintObject[] | undefined

  constructor(table: VisibleTable) {
    this.#table = table
    this.oid = tableOid(table.id)
  }

  get name(): string {
    return this.#table.name
  }

  get rowType(): number {
    return this.oid + 2
  }

  get arrayType(): number {
    return this.oid + 1
  }

  get kind(): 'r' | 'v' | 'm' {
    if (this.#table.view === undefined) return 'r'
    return this.#table.isPopulated === undefined ? 'v' : 'm'
  }

  get isPopulated(): boolean {
    return this.#table.isPopulated !== false
  }

  get description(): string | undefined {
    return this.#table.description
  }

  get viewText(): string | undefined {
    return this.#table.view
  }

  get isWritable(): boolean {
    return this.#table.isWritable
  }

  get columnCount(): number {
    return this.#table.columns.length
  }

  get checkCount(): number {
    return this.#table.checks?.length ?? 0
  }

  get columns(): readonly ColumnObject[] {
    if (this.#columns === undefined) {
      const partId = partIds(this.oid + FIRST_PART)
      this.#columns = this.#table.columns.map(([name, type, modifier, isRequired, text], index) => {
        const value = text === null ? undefined : { oid: partId(name), text }
        return { name, number: index + 1, type, modifier, isRequired, default: value }
      })
    }
    return this.#columns
  }

  /** Those of keys first. */
  get indexes(): readonly IndexObject[] {
    this.#indexes ??= this.#makeIndexes()
    return this.#indexes
  }

  #makeIndexes(): IndexObject[] {
    const partId = partIds(this.oid + FIRST_PART + PARTS)
    const keys = this.#keys().map(({ name, isPrimary, columns }) => {
      const parts = columns.map((column) => ({ name: column, descending: false }))
      return this.#index(partId(name), { name, unique: true, columns: parts }, isPrimary)
    })
    const others = this.#table.indexes.map((index) => this.#index(partId(index.name), index, false))
    return [...keys, ...others]
  }

  #index(oid: number, { name, unique, columns }: VisibleTable['indexes'][number], isPrimary: boolean): IndexObject {
    const find = (): IndexColumn[] =>
      columns.flatMap((part) => this.#find([part.name]).map((column) => ({ column, isDescending: part.descending })))
    return {
      oid,
      name,
      isUnique: unique,
      isPrimary,
      columnCount: columns.length,
      get columns() {
        return find()
      },
    }
  }

  get constraints(): readonly ConstraintObject[] {
    this.#constraints ??= this.#makeConstraints()
    return this.#constraints
  }

  #makeConstraints(): ConstraintObject[] {
    const partId = partIds(this.oid + FIRST_PART + 2 * PARTS)
    const keys = this.#keys().map(({ name, isPrimary, columns }, position): ConstraintObject => {
      const index = this.indexes[position]?.oid ?? 0
      return {
        oid: partId(name),
        name,
        kind: isPrimary ? 'p' : 'u',
        index,
        columns: this.#find(columns),
        condition: undefined,
      }
    })
    const checks = (this.#table.checks ?? []).map(({ name, condition }): ConstraintObject => {
      return { oid: partId(name), name, kind: 'c', index: 0, columns: [], condition }
    })
    return [...keys, ...checks]
  }

  /** With the names that PostgreSQL gives to keys. */
  #keys() {
    const { name, primaryKey, uniques } = this.#table
    return [
      ...(primaryKey.length === 0 ? [] : [{ name: shortName(`${name}_pkey`), isPrimary: true, columns: primaryKey }]),
      ...uniques.map((columns) => ({ name: shortName(`${name}_${columns.join('_')}_key`), isPrimary: false, columns })),
    ]
  }

  #find(names: readonly string[]): ColumnObject[] {
    return names.flatMap((name) => this.columns.find((column) => column.name === name) ?? [])
  }
}

/** By name, so that an index keeps its id when another one is dropped; the next free id if two names meet. */
function partIds(first: number): (name: string) => number {
  const taken = new Set<number>()
  return (name) => {
    let hash = 0x811c9dc5
    for (let at = 0; at < name.length; at++) hash = Math.imul(hash ^ name.charCodeAt(at), 0x01000193) >>> 0
    let part = hash % PARTS
    while (taken.has(part) && taken.size < PARTS) part = (part + 1) % PARTS
    taken.add(part)
    return first + part
  }
}

/** PostgreSQL's names have at most 63 bytes. */
function shortName(name: string): string {
  return name.length <= 63 ? name : name.slice(0, 63)
}
