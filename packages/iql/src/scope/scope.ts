/** The names visible at a position in a statement: sources with their columns, WITH names, and enclosing scopes. */

import type { BoundExpression, Cte } from '../bound/bound-query.ts'
import type { ColumnRef, Expression, Name, SelectItem } from '../syntax/ast-query.ts'
import { type Ordinals, ordinalsByName, sameName } from '../syntax/names.ts'
import type { IqlType } from '../types/types.ts'

export interface ScopeSource {
  readonly name: string
  readonly id: number
  readonly columns: readonly ScopeColumn[]
  /** An outer join may supply NULLs instead of a row of this source. */
  mayBeAbsent: boolean
  /** The columns, in lower case, that a USING has merged with a column of another source: only qualified names refer to them. */
  hidden?: Set<string>
  /** Computed when the first column is looked up. */
  ordinals?: Ordinals
}

export interface ScopeColumn {
  readonly name: string
  readonly type: IqlType
  readonly nullable: boolean
}

/** What a clause allows, and its name in messages. */
export interface Clause {
  readonly name: string
  readonly aggregates: boolean
  readonly windows: boolean
}

export const CLAUSES = {
  select: { name: 'SELECT', aggregates: true, windows: true },
  orderBy: { name: 'ORDER BY', aggregates: true, windows: true },
  having: { name: 'HAVING', aggregates: true, windows: false },
  where: { name: 'WHERE', aggregates: false, windows: false },
  from: { name: 'FROM', aggregates: false, windows: false },
  latest: { name: 'LATEST ON', aggregates: false, windows: false },
  on: { name: 'ON', aggregates: false, windows: false },
  groupBy: { name: 'GROUP BY', aggregates: false, windows: false },
  qualify: { name: 'QUALIFY', aggregates: true, windows: true },
  distinctOn: { name: 'DISTINCT ON', aggregates: true, windows: true },
  limit: { name: 'LIMIT', aggregates: false, windows: false },
  values: { name: 'VALUES', aggregates: false, windows: false },
  set: { name: 'SET', aggregates: false, windows: false },
  returning: { name: 'RETURNING', aggregates: false, windows: false },
  check: { name: 'CHECK', aggregates: false, windows: false },
  default: { name: 'DEFAULT', aggregates: false, windows: false },
  rowFilter: { name: 'ROW FILTER', aggregates: false, windows: false },
  aggregate: { name: 'an aggregate', aggregates: false, windows: false },
  window: { name: 'a window function', aggregates: true, windows: false },
} as const satisfies Record<string, Clause>

/** A GROUP BY expression, which outputs may repeat. */
export interface GroupingKey {
  readonly expression: BoundExpression
  readonly fingerprint: string
  /** The size of the syntax tree, see expressionSize. */
  readonly size: number
}

/** The GROUP BY of a select. */
export class Grouping {
  readonly #indexes: ReadonlyMap<string, number>
  /** Of the keys that are more than a column or a value. */
  readonly sizes: ReadonlySet<number>

  constructor(keys: readonly GroupingKey[]) {
    // The first of equal keys counts, so it is set last.
    this.#indexes = new Map(keys.map(({ fingerprint }, index) => [fingerprint, index] as const).reverse())
    this.sizes = new Set(keys.map(({ size }) => size).filter((size) => size > 1))
  }

  indexOf(fingerprint: string): number | undefined {
    return this.#indexes.get(fingerprint)
  }
}

const NONE_MERGED: ReadonlyMap<string, Expression> = new Map()

export class Scope {
  readonly parent: Scope | undefined
  readonly sources: ScopeSource[] = []
  /** By name, in lower case. */
  readonly ctes = new Map<string, Cte>()
  clause: Clause
  /** What names in lower case stand for that FULL JOIN … USING has merged. */
  merged: ReadonlyMap<string, Expression> = NONE_MERGED
  /** What * stands for where a USING merges columns. */
  star: readonly ColumnRef[] | undefined
  /** Set once the keys of a grouped select are bound: from then on only keys and aggregates are allowed. */
  grouping: Grouping | undefined
  /** The items of the select, whose aliases are not visible in WHERE and HAVING: for hints. */
  items: readonly SelectItem[] = []
  /** The number of columns resolved in this scope so far. */
  hits = 0

  constructor(parent: Scope | undefined, clause: Clause = CLAUSES.select) {
    this.parent = parent
    this.clause = clause
  }

  cte(name: string): Cte | undefined {
    return this.ctes.get(name.toLowerCase()) ?? this.parent?.cte(name)
  }

  source(name: string): ScopeSource | undefined {
    return this.sources.find((source) => sameName(source.name, name))
  }

  /** Every column in this scope, without the enclosing ones, that the name may refer to. */
  candidates(table: Name | undefined, name: string): { source: ScopeSource; ordinal: number; column: ScopeColumn }[] {
    const found: { source: ScopeSource; ordinal: number; column: ScopeColumn }[] = []
    const key = name.toLowerCase()
    for (const source of this.sources) {
      if (table === undefined ? source.hidden?.has(key) : !sameName(source.name, table.text)) continue
      source.ordinals ??= ordinalsByName(source.columns)
      for (const ordinal of source.ordinals.get(key) ?? []) {
        const column = source.columns[ordinal]
        if (column !== undefined) found.push({ source, ordinal, column })
      }
    }
    return found
  }

  /** Runs with another clause and, if `ungrouped`, without grouping, as inside an aggregate. */
  within<Result>(clause: Clause, ungrouped: boolean, run: () => Result): Result {
    const { clause: outerClause, grouping } = this
    this.clause = clause
    if (ungrouped) this.grouping = undefined
    const result = run()
    this.clause = outerClause
    this.grouping = grouping
    return result
  }
}
