/** Definitions of tables and views as the catalogue stores them: plain data, the same in both engines. */

import { COLUMN_TYPES, decimal, type IqlType, LOCAL_TIMESTAMP, typeName } from 'gatehouse-iql'
import type { StepUpRules } from 'gatehouse-protocol'
import { refuse } from '../errors.ts'

export interface TableDefinition {
  /** In its original spelling. */
  readonly name: string
  readonly columns: readonly ColumnDefinition[]
  readonly primaryKey: readonly string[]
  readonly uniques: readonly (readonly string[])[]
  readonly indexes: readonly IndexDefinition[]
  /** Absent: none. */
  readonly checks?: readonly CheckDefinition[] | undefined
  readonly readScope: string | undefined
  readonly writeScope: string | undefined
  /** As IQL text. */
  readonly rowFilter: string | undefined
  /** What the sign-in of a caller must be like; undefined: anything. */
  readonly stepUp?: StepUpRules | undefined
  readonly description: string | undefined
  /** Whether changes are logged for live queries. */
  readonly isLive: boolean
  /** Whether the rows are also kept by column (columns/). Absent: false. */
  readonly isColumnar?: boolean | undefined
  /** How long rows are kept. Absent: for ever. */
  readonly retention?: RetentionDefinition | undefined
  /** Whether no row may be deleted. Absent: false. */
  readonly isHeld?: boolean | undefined
  /** In milliseconds: for each a copy holds the rows as they were that long ago (engines/delayed-copies.ts). Absent: none. */
  readonly delays?: readonly number[] | undefined
  /** Microseconds since the epoch. */
  readonly created: bigint
  /** Set by the database when the table is created: what the object ids of PostgreSQL's catalogue are derived from. */
  readonly id?: number | undefined
  /** Set for a view, which has no rows of its own: neither keys nor indexes, neither a write scope nor a row filter. */
  readonly view?: ViewDefinition | undefined
  /** Set for a materialized view, whose rows are stored as those of a table (kept/). */
  readonly kept?: KeptDefinition | undefined
  /** Of a materialized view that was read from the database; no part of its definition. */
  readonly keptState?: KeptState | undefined
}

/** Its primary key are the columns of its groups, in their order. */
export interface KeptDefinition {
  /** The query as IQL text. */
  readonly text: string
  /** The table or the materialized view that it reads, as a list of one. */
  readonly uses: readonly [string]
  /** The columns of it that decide which rows are of which group: the change log always has them. */
  readonly logged: readonly string[]
  /** What its primary key is made of. */
  readonly keys: readonly KeptKeyDefinition[]
}

export interface KeptKeyDefinition {
  readonly column: string
  /** Set if the group is this column itself. */
  readonly base?: string
  /** Set if the group is a time bucket of this column. */
  readonly bucketOf?: string
}

export interface KeptState {
  readonly state: 'building' | 'ready' | 'failed'
  /** From 0 to 1. */
  readonly progress: number
  /** Whether its rows were complete at some time: it has a change log. */
  readonly isBuilt: boolean
  /** Whether it may have rows that its query no longer gives, because rows of its table are gone. */
  readonly hasCut: boolean
  readonly error: string
}

export interface RetentionDefinition {
  /** Such as '30 days': always written in the same way. */
  readonly time: string
  /** The column that says how old a row is: a Timestamp or a Date, NOT NULL. */
  readonly on: string
}

export interface CheckDefinition {
  readonly name: string
  /** As IQL text. */
  readonly condition: string
}

export interface ViewDefinition {
  /** The query as IQL text. */
  readonly text: string
  /** The tables and views that the text names. */
  readonly uses: readonly string[]
}

export interface ColumnDefinition {
  readonly name: string
  readonly type: IqlType
  readonly nullable: boolean
  /** As IQL text. */
  readonly default: string | undefined
}

export interface IndexDefinition {
  readonly name: string
  readonly unique: boolean
  readonly columns: readonly { readonly name: string; readonly descending: boolean }[]
}

/** The JSON stored in the catalogue. The system tables read its column entries. */
export function writeDefinition(table: TableDefinition): string {
  const keys = new Set(table.primaryKey)
  return JSON.stringify({
    columns: table.columns.map((column) => ({
      name: column.name,
      type: typeName(column.type),
      nullable: column.nullable,
      primarykey: keys.has(column.name),
      default: column.default ?? null,
    })),
    primaryKey: table.primaryKey,
    uniques: table.uniques,
    indexes: table.indexes,
    ...((table.checks ?? []).length === 0 ? {} : { checks: table.checks }),
    ...(table.isLive ? {} : { live: false }),
    ...(table.isColumnar ? { columnar: true } : {}),
    ...(table.retention === undefined ? {} : { retention: table.retention }),
    ...(table.isHeld ? { held: true } : {}),
    ...((table.delays ?? []).length === 0 ? {} : { delays: table.delays }),
    ...(table.stepUp === undefined ? {} : { stepUp: table.stepUp }),
    ...(table.view === undefined ? {} : { view: table.view }),
    ...(table.kept === undefined ? {} : { kept: table.kept }),
  })
}

/** A row of the catalogue as both engines return it. */
export interface CatalogueRow {
  readonly name: string
  readonly definition: string
  readonly readScope: string | null
  readonly writeScope: string | null
  readonly rowFilter: string | null
  readonly description: string | null
  readonly created: bigint
  readonly id: bigint | null
  /** The state of a materialized view, as `selectKeptState` of engines/kept-state-sql.ts writes it. */
  readonly kept: string | null
}

export function readDefinition(row: CatalogueRow): TableDefinition {
  const stored = JSON.parse(row.definition) as StoredDefinition
  return {
    name: row.name,
    columns: stored.columns.map((column) => ({
      name: column.name,
      type: readTypeName(column.type),
      nullable: column.nullable,
      default: column.default ?? undefined,
    })),
    primaryKey: stored.primaryKey,
    uniques: stored.uniques,
    indexes: stored.indexes,
    ...(stored.checks === undefined ? {} : { checks: stored.checks }),
    readScope: row.readScope ?? undefined,
    writeScope: row.writeScope ?? undefined,
    rowFilter: row.rowFilter ?? undefined,
    description: row.description ?? undefined,
    isLive: stored.live ?? true,
    ...(stored.columnar ? { isColumnar: true } : {}),
    ...(stored.retention === undefined ? {} : { retention: stored.retention }),
    ...(stored.held ? { isHeld: true } : {}),
    ...(stored.delays === undefined ? {} : { delays: stored.delays }),
    created: row.created,
    ...(row.id === null ? {} : { id: Number(row.id) }),
    ...(stored.stepUp === undefined ? {} : { stepUp: stored.stepUp }),
    ...(stored.view === undefined ? {} : { view: stored.view }),
    ...(stored.kept === undefined ? {} : { kept: stored.kept, keptState: readKeptState(row.kept) }),
  }
}

/** `building 250 ` with the progress in thousandths, `ready 1000 `, `ready 1000+ ` with a cut, `failed 1000 Division by zero`. */
function readKeptState(text: string | null): KeptState {
  const [, state, thousandths = '0', cut, error = ''] = /^(\w+) (\d+)(\+?) (.*)$/s.exec(text ?? '') ?? []
  const known = state === 'ready' || state === 'failed' ? state : 'building'
  return {
    state: known,
    progress: Number(thousandths) / 1000,
    isBuilt: thousandths === '1000',
    hasCut: cut === '+',
    error,
  }
}

/** What it reads, if it is a view of either kind. */
export function usedBy({ view, kept }: Pick<TableDefinition, 'view' | 'kept'>): readonly string[] {
  return view?.uses ?? kept?.uses ?? []
}

/** Refuses a change derived from an outdated definition, because it would undo the changes of others. */
export function refuseStale(row: CatalogueRow | undefined, from: TableDefinition): void {
  if (row === undefined) throw refuse('Data.UnknownTable', `There is no table ${from.name}`)
  if (canonicalForm(readDefinition(row)) !== canonicalForm(from))
    throw refuse('Data.Conflict', `The table ${from.name} has just changed`)
}

function canonicalForm(table: TableDefinition): string {
  const { readScope, writeScope, rowFilter, description, created } = table
  return JSON.stringify([writeDefinition(table), readScope, writeScope, rowFilter, description, String(created)])
}

interface StoredDefinition {
  readonly columns: readonly { name: string; type: string; nullable: boolean; default: string | null }[]
  readonly primaryKey: readonly string[]
  readonly uniques: readonly (readonly string[])[]
  readonly indexes: readonly IndexDefinition[]
  readonly checks?: readonly CheckDefinition[]
  /** Absent: true. */
  readonly live?: boolean
  /** Absent: false. */
  readonly columnar?: boolean
  readonly retention?: RetentionDefinition
  /** Absent: false. */
  readonly held?: boolean
  readonly delays?: readonly number[]
  readonly stepUp?: StepUpRules
  readonly view?: ViewDefinition
  readonly kept?: KeptDefinition
}

function readTypeName(name: string): IqlType {
  // Only a view has columns of this type.
  if (name === LOCAL_TIMESTAMP.kind) return LOCAL_TIMESTAMP
  const simple = COLUMN_TYPES.find((kind) => kind === name)
  if (simple !== undefined && simple !== 'Decimal') return { kind: simple }
  const [, precision, scale] = /^Decimal\((\d+), (\d+)\)$/.exec(name) ?? []
  if (precision === undefined || scale === undefined)
    throw new Error(`The catalogue has a column of the unknown type ${name}`)
  return decimal(Number(precision), Number(scale))
}

/** A change of the catalogue. It is made in one transaction with the table itself. */
export type CatalogueChange =
  | { readonly kind: 'create'; readonly table: TableDefinition }
  | { readonly kind: 'drop'; readonly name: string; readonly isView: boolean }
  | {
      readonly kind: 'alter'
      readonly name: string
      /** The definition that the change was derived from. The change is refused if it is no longer current. */
      readonly from: TableDefinition
      readonly table: TableDefinition
      readonly step: AlterStep
    }

export type AlterStep =
  /** Scopes, row filter, checks, step-up, description, whether changes are logged or rows kept by column, retention, hold: the stored rows stay as they are. */
  | { readonly kind: 'rights' }
  | { readonly kind: 'add-column'; readonly column: ColumnDefinition; readonly isUnique: boolean }
  | { readonly kind: 'drop-column'; readonly column: string }
  | { readonly kind: 'rename-column'; readonly column: string; readonly to: string }
  | { readonly kind: 'create-index'; readonly index: IndexDefinition }
  | { readonly kind: 'drop-index'; readonly index: string }
  /** Another query, of the same view. */
  | { readonly kind: 'replace-view' }
