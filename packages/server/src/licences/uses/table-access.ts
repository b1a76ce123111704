/** What a caller may see of a table that products cover. Equal for all who may see the same, so that they share plans. */
import { LruMap } from '../../lib/lru-map.ts'
import type { Product } from '../../store/licences/products.ts'
import { isAtLeast } from '../decide.ts'
import { isReason, type NeededReason } from '../refusals.ts'
import type { Rows, TableCoverage } from './table-coverage.ts'
import type { PartAccess } from './uses.ts'

export interface TableAccess {
  /** In lower case. */
  readonly table: string
  readonly column: string | undefined
  /** Each row is in one of them. */
  readonly parts: readonly AccessPart[]
  /** All that cover any row. */
  readonly products: ReadonlySet<string>
}

export interface AccessPart {
  readonly rows: Rows
  readonly access: PartAccess['access']
  /** Milliseconds; 0 unless it is delayed. */
  readonly delay: number
  /** Those that cover the rows. */
  readonly products: readonly string[]
  /** The one that opens it, if any does. */
  readonly product: string | undefined
  /** Whether the product gives this access to all. */
  readonly isFree: boolean
  /** What is missing for more. */
  readonly missing: NeededReason
}

const MOST_KNOWN = 10_000

export class TableAccesses {
  readonly #known = new LruMap<TableAccess>(MOST_KNOWN)
  #products: ReadonlyMap<string, Product> = new Map()

  /** What products give to all. */
  setFree(products: ReadonlyMap<string, Product>): void {
    this.#products = products
  }

  /** The access to each part of the coverage, in their order. */
  find(table: string, coverage: TableCoverage, parts: readonly PartAccess[]): TableAccess {
    const all = parts.map((part) => this.#read(part))
    const key = `${table}\n${all.map(describe).join('\n')}\n${coverage.key}`
    const known = this.#known.get(key)
    if (known !== undefined) return known
    const access: TableAccess = {
      table,
      column: coverage.column,
      products: coverage.products,
      parts: coverage.parts.map(({ rows, products }, index) => ({ rows, products, ...(all[index] ?? NONE) })),
    }
    this.#known.set(key, access)
    return access
  }

  #read(part: PartAccess): Given {
    if (part.access === 'none') {
      const reason = part.refusal.details.members?.Reason
      return { ...NONE, missing: isReason(reason) ? reason : 'none' }
    }
    const { access, product } = part
    const [delay, missing] = part.access === 'delayed' ? [part.delay, part.missing] : [0, NONE.missing]
    return {
      access,
      product,
      delay,
      missing,
      isFree: isAtLeast(this.#products.get(product)?.byDefault ?? 'none', access),
    }
  }
}

type Given = Pick<AccessPart, 'access' | 'delay' | 'product' | 'isFree' | 'missing'>

const NONE: Given = { access: 'none', delay: 0, product: undefined, isFree: true, missing: 'none' }

function describe({ access, product, delay, isFree, missing }: Given): string {
  return `${access} ${product} ${delay} ${isFree} ${missing}`
}
