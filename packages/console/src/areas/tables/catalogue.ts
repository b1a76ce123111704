/** The tables and views that the user may see, read as they are needed. */
import { gate } from '../../gate.ts'

export type Right = 'select' | 'insert' | 'update' | 'delete' | 'alter'

/** As `GET /catalogue/tables` lists it. */
export interface TableSummary {
  readonly name: string
  readonly issystem: boolean
  readonly description: string | null
  readonly readscope: string | null
  readonly writescope: string | null
  /** What reading and writing demand of the sign-in. */
  readonly requireacr: number | null
  readonly requireage: number | null
  readonly writerequireacr: number | null
  readonly writerequireage: number | null
  readonly columns: number
  readonly created: string
  readonly live: boolean
  readonly isview: boolean
  /** Undefined from a node of an earlier version. */
  readonly ismaterialized?: boolean
  readonly rights: readonly Right[]
  /** The scopes that the user lacks to read the rows. Only users who may define tables see such a table. */
  readonly missingscopes: readonly string[]
}

export interface TableColumn {
  readonly name: string
  readonly type: string
  readonly nullable: boolean
  readonly isprimarykey: boolean
  readonly default: string | null
}

export interface TableIndex {
  readonly name: string
  readonly columns: readonly (string | { readonly name: string; readonly descending?: boolean })[]
  readonly unique?: boolean
}

export interface TableDetail extends Omit<TableSummary, 'columns'> {
  readonly columns: readonly TableColumn[]
  readonly primarykey: readonly string[]
  readonly uniques: readonly (readonly string[])[]
  readonly indexes: readonly TableIndex[]
  readonly rowfilter: string | null
  /** Whether its rows are also kept by column; undefined from a node of an earlier version. */
  readonly columnar?: boolean
  /** CHECK constraints; undefined from a node of an earlier version. */
  readonly checks?: readonly { readonly name: string; readonly condition: string }[]
  /** How long rows are kept, and whether the table is held; undefined from a node of an earlier version. */
  readonly retention?: { readonly time: string; readonly on: string } | null
  readonly hold?: boolean
  /** The query of a view. */
  readonly view: string | null
  /** Of a materialized view. */
  readonly kept?: KeptState
}

/** How far a materialized view is. */
export interface KeptState {
  readonly state: 'building' | 'ready' | 'failed'
  readonly progress: number
  /** Seconds; null from a node that does not keep it. */
  readonly behind: number | null
  /** Null where some do not see all of them. */
  readonly rows: number | null
  readonly builds: number
  readonly error: string | null
}

export interface TablePage {
  readonly items: readonly TableSummary[]
  readonly next: string | null
}

export interface TableSearch {
  /** The beginning of the names. */
  readonly prefix: string
  readonly system: boolean
}

/** `from` is a search, or `next` of the page before. */
export async function readTables(from: TableSearch | string, signal?: AbortSignal): Promise<TablePage> {
  const path =
    typeof from === 'string'
      ? from
      : `/catalogue/tables?${new URLSearchParams({ limit: '100', prefix: from.prefix, system: String(from.system) })}`
  return (await gate.json(path, { signal })) as TablePage
}

/** The column segments of a table. */
export interface TableSegments {
  readonly table: string
  readonly ready: number
  readonly marked: number
  readonly missing: number
  readonly rows: number
  readonly bytes: number
}

/** Undefined if it has none. Needs the right Platform/Admin. */
export async function readSegments(name: string, signal?: AbortSignal): Promise<TableSegments | undefined> {
  const { items } = (await gate.json('/admin/columns', { signal })) as { items: readonly TableSegments[] }
  return items.find(({ table }) => table.toLowerCase() === name.toLowerCase())
}

export async function readTable(name: string, signal?: AbortSignal): Promise<TableDetail> {
  return (await gate.json(`/catalogue/tables/${encodeURIComponent(name)}`, { signal })) as TableDetail
}
