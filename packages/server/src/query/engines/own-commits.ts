/** Positions of tables without a change log: how many commits of this node have written to them. */
import { randomBytes } from 'node:crypto'
import type { CatalogueRow } from '../catalogue/definition.ts'
import type { WrittenTable } from './commit-listeners.ts'
import type { TablePosition } from './live-source.ts'

const FORM = /^#(\d{1,15})\.([0-9a-f]{16})$/

export class OwnCommits {
  /** Another node, or this one after a restart, has counted other commits. */
  readonly #node = randomBytes(8).toString('hex')
  readonly #counts = new Map<string, number>()
  /** Commits that may have written to any table. */
  #others = 0
  #catalogue: string | undefined

  /** Counts a commit that wrote to these tables; undefined: to any. */
  add(tables: readonly string[] | undefined): void {
    if (tables === undefined) this.#others++
    for (const table of tables ?? []) {
      const key = table.toLowerCase()
      this.#counts.set(key, (this.#counts.get(key) ?? 0) + 1)
    }
  }

  /** Counts a change of the catalogue, perhaps by another node; false if nothing has changed. */
  addCatalogue(rows: readonly CatalogueRow[]): boolean {
    const catalogue = rows.map((row) => Object.values(row).join('\n')).join('\n')
    const hasChanged = this.#catalogue !== undefined && this.#catalogue !== catalogue
    this.#catalogue = catalogue
    if (hasChanged) this.add(undefined)
    return hasChanged
  }

  position(table: string): TablePosition {
    return `#${this.#others + (this.#counts.get(table.toLowerCase()) ?? 0)}.${this.#node}`
  }

  compareToNow(table: string, position: TablePosition): 'same' | 'changed' | 'lost' {
    if (position === this.position(table)) return 'same'
    return this.#countIn(position) === undefined ? 'lost' : 'changed'
  }

  compare(a: TablePosition, b: TablePosition): number | undefined {
    const [left, right] = [this.#countIn(a), this.#countIn(b)]
    return left === undefined || right === undefined ? undefined : left - right
  }

  #countIn(position: TablePosition): number | undefined {
    const [, count, node] = FORM.exec(position) ?? []
    return count === undefined || node !== this.#node ? undefined : Number(count)
  }
}

export function unloggedNames(tables: readonly WrittenTable[]): string[] {
  return tables.flatMap(({ name, isLive }) => (isLive ? [] : [name]))
}

/** Whether the position is of a table without a change log. */
export function isCounted(position: TablePosition): boolean {
  return position.startsWith('#')
}
