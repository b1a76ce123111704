/** The tables and columns that completion offers, loaded as they are needed and kept for a while. */

export interface KnownTable {
  readonly name: string
  readonly description: string | null
  /** The number of columns. */
  readonly columns: number
}

export interface KnownColumn {
  readonly name: string
  readonly type: string
  readonly nullable: boolean
  readonly isprimarykey: boolean
}

export interface Catalogue {
  /** Those whose names begin with the prefix, a page of them. */
  tables(prefix: string): Promise<readonly KnownTable[]>
  /** None if there is no such table. */
  columns(table: string): Promise<readonly KnownColumn[]>
}

/** Tables change, so older entries are loaded again. */
const KEPT_MS = 60_000
const MOST = 200
const PAGE = 100

/** The catalogue of a client: `catalogueOf(gate)`. */
export function catalogueOf(gate: { json(path: string): Promise<unknown> }): Catalogue {
  const kept = new Map<string, { readonly at: number; readonly reply: Promise<unknown> }>()
  const load = (path: string): Promise<unknown> => {
    const known = kept.get(path)
    if (known !== undefined && Date.now() - known.at < KEPT_MS) return known.reply
    const reply = gate.json(path).catch(() => undefined)
    kept.delete(path)
    kept.set(path, { at: Date.now(), reply })
    for (const oldest of kept.keys()) {
      if (kept.size <= MOST) break
      kept.delete(oldest)
    }
    return reply
  }
  return {
    async tables(prefix) {
      const search = new URLSearchParams({ prefix, limit: String(PAGE) })
      const reply = (await load(`/catalogue/tables?${search}`)) as { items?: readonly KnownTable[] } | undefined
      return reply?.items ?? []
    },
    async columns(table) {
      const path = `/catalogue/tables/${encodeURIComponent(table.toLowerCase())}`
      const reply = (await load(path)) as { columns?: readonly KnownColumn[] } | undefined
      return reply?.columns ?? []
    },
  }
}
