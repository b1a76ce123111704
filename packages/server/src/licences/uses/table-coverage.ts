/** Which products cover the rows of a table. */
import type { TableCoverage as Declared } from '../../store/licences/coverage.ts'
import type { Product } from '../../store/licences/products.ts'

export type Value = string | number

/** Rows of a table by the values of its column. */
export type Rows = { readonly kind: 'all' } | { readonly kind: 'in' | 'not-in'; readonly values: readonly Value[] }

/** Rows that the same products cover: any of them opens these. Without products they are nobody's. */
export interface TablePart {
  readonly products: readonly string[]
  readonly rows: Rows
}

export class TableCoverage {
  /** Products that cover all rows. */
  readonly #whole = new Set<string>()
  readonly #others = new Set<string>()
  /** By the value as text. */
  readonly #values = new Map<string, { readonly value: Value; readonly products: Set<string> }>()
  #column: string | undefined
  #parts: readonly TablePart[] | undefined
  #key: string | undefined

  get column(): string | undefined {
    return this.#column
  }

  /** All that cover any row. */
  get products(): ReadonlySet<string> {
    return new Set(this.parts.flatMap(({ products }) => products))
  }

  /** What names another column than the others opens nothing. */
  add(product: string, { column, values }: Declared): void {
    if (column === undefined || values === undefined) {
      this.#whole.add(product)
      return
    }
    this.#column ??= column
    if (this.#column.toLowerCase() !== column.toLowerCase()) return
    if (values === 'others') this.#others.add(product)
    else
      for (const value of values) {
        const known = this.#values.get(String(value))
        if (known === undefined) this.#values.set(String(value), { value, products: new Set([product]) })
        else known.products.add(product)
      }
  }

  /** Each row is in one of them. */
  get parts(): readonly TablePart[] {
    this.#parts ??= this.#split()
    return this.#parts
  }

  /** Equal for equal coverage. */
  get key(): string {
    this.#key ??= JSON.stringify([this.#column, this.parts])
    return this.#key
  }

  #split(): readonly TablePart[] {
    if (this.#column === undefined) return [{ products: sorted(this.#whole), rows: { kind: 'all' } }]
    const named = [...this.#values.values()]
    const parts = new Map<string, { readonly products: readonly string[]; readonly values: Value[] }>()
    for (const { value, products } of named) {
      const all = sorted(products.union(this.#whole))
      const key = all.join('\n')
      const known = parts.get(key)
      if (known === undefined) parts.set(key, { products: all, values: [value] })
      else known.values.push(value)
    }
    const rest: Rows = { kind: 'not-in', values: named.map(({ value }) => value) }
    return [
      ...[...parts.values()].map(({ products, values }) => ({ products, rows: { kind: 'in', values } as const })),
      { products: sorted(this.#others.union(this.#whole)), rows: rest },
    ]
  }
}

/** Of all tables that products name, by their names in lower case. */
export function tableCoverages(products: Iterable<Product>): Map<string, TableCoverage> {
  const coverages = new Map<string, TableCoverage>()
  for (const { name, covers } of products)
    for (const coverage of covers) {
      if (!('table' in coverage)) continue
      const key = coverage.table.toLowerCase()
      const known = coverages.get(key) ?? new TableCoverage()
      coverages.set(key, known)
      known.add(name, coverage)
    }
  return coverages
}

function sorted(names: ReadonlySet<string>): readonly string[] {
  return [...names].sort()
}
