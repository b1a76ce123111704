/** The names that can be used at a place of a statement: sources with their columns, WITH names, and what encloses them. */
import type { Name } from './ast-expression.ts'
import type { Cte } from './bound.ts'
import type { BoundExpression } from './bound-expression.ts'
import { ordinalsOf, sameName } from './names.ts'
import type { IqlType } from './types.ts'

export interface ScopeSource {
  readonly name: string
  readonly id: number
  readonly columns: readonly ScopeColumn[]
  /** Set when an outer join may give this source no row. */
  mayBeAbsent: boolean
}

export interface ScopeColumn {
  readonly name: string
  readonly type: IqlType
  readonly nullable: boolean
}

/** What a clause lets in, and what it is called in messages. */
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
  on: { name: 'ON', aggregates: false, windows: false },
  groupBy: { name: 'GROUP BY', aggregates: false, windows: false },
  limit: { name: 'LIMIT', aggregates: false, windows: false },
  values: { name: 'VALUES', aggregates: false, windows: false },
  set: { name: 'SET', aggregates: false, windows: false },
  returning: { name: 'RETURNING', aggregates: false, windows: false },
  default: { name: 'DEFAULT', aggregates: false, windows: false },
  rowFilter: { name: 'ROW FILTER', aggregates: false, windows: false },
  aggregate: { name: 'an aggregate', aggregates: false, windows: false },
  window: { name: 'a window function', aggregates: true, windows: false },
} as const satisfies Record<string, Clause>

/** In a grouped select, a key that an expression may repeat. */
export interface GroupingKey {
  readonly expression: BoundExpression
  readonly fingerprint: string
  /** Of the expression as written. */
  readonly size: number
}

export class Scope {
  readonly parent: Scope | undefined
  readonly sources: ScopeSource[] = []
  /** By name, in lower case. */
  readonly ctes = new Map<string, Cte>()
  clause: Clause
  /** Set once the keys of a grouped select are known: from then on only they and aggregates may be used. */
  grouping: readonly GroupingKey[] | undefined
  /** How many columns of this very scope have been resolved. */
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

  /** Every column that could be meant by the name, here and not further out. */
  candidates(table: Name | undefined, name: string): { source: ScopeSource; ordinal: number; column: ScopeColumn }[] {
    const found: { source: ScopeSource; ordinal: number; column: ScopeColumn }[] = []
    const key = name.toLowerCase()
    for (const source of this.sources) {
      if (table !== undefined && !sameName(source.name, table.text)) continue
      for (const ordinal of ordinalsOf(source.columns).get(key) ?? []) {
        const column = source.columns[ordinal]
        if (column !== undefined) found.push({ source, ordinal, column })
      }
    }
    return found
  }

  /** Runs with another clause and, where given, without grouping: inside an aggregate each row counts. */
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
