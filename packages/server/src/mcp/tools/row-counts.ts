/** About how many rows tables have, as lists show it. Kept for a minute. */
import { LruMap } from '../../lib/lru-map.ts'
import type { QueryService } from '../../query/index.ts'
import { counted } from '../text/escape.ts'

interface Count {
  readonly text: string
  readonly until: number
}

const KEPT_MS = 60_000
const MOST_TABLES = 1_000
/** Fewer rows are counted exactly. */
const EXACT = 1_000

export class RowCounts {
  readonly #query: QueryService
  readonly #counts = new LruMap<Count>(MOST_TABLES)

  constructor(query: QueryService) {
    this.#query = query
  }

  /** Empty for a table with a row filter, step-up or a licence, since its count would reveal rows that the caller does not see. */
  async describe(name: string): Promise<string> {
    const { catalogue } = this.#query
    if (this.#query.hidesRows(name)) return ''
    const key = `${catalogue.version} ${name.toLowerCase()}`
    const known = this.#counts.get(key)
    if (known !== undefined && known.until > performance.now()) return known.text
    // A table that was dropped meanwhile has none.
    const rows = await this.#query.estimateRows(name).catch(() => undefined)
    const text = rows === undefined ? '' : rows > EXACT ? `about ${twoDigits(rows)} rows` : counted(rows, 'row')
    this.#counts.set(key, { text, until: performance.now() + KEPT_MS })
    return text
  }
}

/** More would look exact. */
function twoDigits(rows: number): number {
  return Number(rows.toPrecision(2))
}
