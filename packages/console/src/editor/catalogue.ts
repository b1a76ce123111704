/** The tables and columns that completion and the tree of tables offer, loaded as they are needed and kept for a while. */
import { signal } from '@preact/signals'
import { type Statement, statement } from '../../../client/src/index.ts'

export interface KnownTable {
  readonly name: string
  readonly description: string | null
  /** The number of columns. */
  readonly columns: number
  readonly isview: boolean
  readonly issystem: boolean
  /** The scopes that the user lacks to read the rows. */
  readonly missingscopes: readonly string[]
}

export interface KnownColumn {
  readonly name: string
  readonly type: string
  readonly nullable: boolean
  readonly isprimarykey: boolean
}

/** A column with its table. */
export interface FoundColumn extends KnownColumn {
  readonly tablename: string
}

export interface Catalogue {
  /** Those whose names begin with the prefix, a page of them. `system`: only system tables, or only others. */
  tables(prefix: string, system?: boolean): Promise<readonly KnownTable[]>
  /** None if there is no such table. */
  columns(table: string): Promise<readonly KnownColumn[]>
  /** Of all tables, those whose names begin with the prefix, up to `MOST_FOUND`. */
  columnsLike(prefix: string): Promise<readonly FoundColumn[]>
}

/** What the catalogue needs of the client. */
export interface CatalogueSource {
  json(path: string): Promise<unknown>
  query(statement: Statement): { result(): Promise<{ readonly rows: readonly object[] }> }
}

/** Counts the changes of tables that this page has made: what was loaded before is loaded again. */
export const tableChanges = signal(0)

/** Tables change, so older entries are loaded again. */
const KEPT_MS = 60_000
const MOST = 200
/** Of tables. */
export const PAGE = 100
const MOST_FOUND = 200

/** The catalogue of a client: `createCatalogue(gate)`. */
export function createCatalogue(gate: CatalogueSource): Catalogue {
  const kept = new Map<string, { readonly at: number; readonly changes: number; readonly reply: Promise<unknown> }>()
  const keep = (key: string, load: () => Promise<unknown>): Promise<unknown> => {
    const known = kept.get(key)
    const changes = tableChanges.peek()
    if (known?.changes === changes && Date.now() - known.at < KEPT_MS) return known.reply
    const reply = load().catch(() => undefined)
    kept.delete(key)
    kept.set(key, { at: Date.now(), changes, reply })
    for (const oldest of kept.keys()) {
      if (kept.size <= MOST) break
      kept.delete(oldest)
    }
    return reply
  }
  const load = (path: string) => keep(path, () => gate.json(path))
  return {
    async tables(prefix, system) {
      const search = new URLSearchParams({ prefix, limit: String(PAGE) })
      if (system !== undefined) search.set('system', String(system))
      const reply = (await load(`/catalogue/tables?${search}`)) as { items?: readonly KnownTable[] } | undefined
      return reply?.items ?? []
    },
    async columns(table) {
      const path = `/catalogue/tables/${encodeURIComponent(table.toLowerCase())}`
      const reply = (await load(path)) as { columns?: readonly KnownColumn[] } | undefined
      return reply?.columns ?? []
    },
    async columnsLike(prefix) {
      const wanted = prefix.toLowerCase()
      const found = await keep(`columns ${wanted}`, () => gate.query(statement(COLUMNS_LIKE, { wanted })).result())
      return ((found as { rows?: readonly FoundColumn[] } | undefined)?.rows ?? []).slice(0, MOST_FOUND)
    },
  }
}

const COLUMNS_LIKE = `select c.tablename, c.name, c.type, c.nullable, c.isprimarykey
from cataloguecolumns c join cataloguetables t on t.name = c.tablename
where not t.issystem and starts_with(lower(c.name), :wanted)
order by c.name, c.tablename limit ${MOST_FOUND}`
