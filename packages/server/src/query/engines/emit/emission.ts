/** The state of one statement while it is emitted. */
import type { BoundExpression, BoundQuery, FindIndexes, TextWeight } from 'gatehouse-iql'
import { refuse } from '../../errors.ts'
import type { Dialect, Sql } from './dialect.ts'
import type { Placeholders } from './parameters.ts'

export interface Emission {
  readonly dialect: Dialect
  readonly placeholders: Placeholders
  /** How a column of a source is referenced, by the source's id. */
  readonly sources: Map<number, (ordinal: number, name: string) => Sql>
  /** All tables are read as they were at the positions in the placeholders `since`. */
  readonly isFormer: boolean
  readonly findIndexes: FindIndexes
  /** The text that the statement holds; undefined for those of the service itself. */
  readonly weight: () => TextWeight | undefined
  /** Whether an expression of the statement can be an error: then it matters which are evaluated. */
  readonly mayFail: () => boolean
  /** Inside a part of CASE, COALESCE or OR that may not be needed: `later` if the database would evaluate it before the first row. */
  readonly evaluated?: 'if needed' | 'later'
  /** The indexes of the placeholders of literals that become parameters, by `WrittenAt.index`. */
  readonly autoParameters: ReadonlyMap<number, number>
  /** Aggregates and keys of groups that are columns of another table: see part-groups.ts. */
  readonly replaced?: ReadonlyMap<BoundExpression, Sql>
  /** Set for a bulk insert. */
  readonly bulk?: BulkEmission | undefined
  /** Emits the query of a sub-query. */
  readonly subquery: (query: BoundQuery) => Sql
  /** Emits an expression, without the check of its length. */
  readonly node: (node: BoundExpression, emission: Emission) => Sql
}

/** How the statement of a bulk insert differs from that of one row. */
export interface BulkEmission {
  /** The rows are those of `Dialect.bulkRows`: parameter 0 is the column `c0`, and so on. */
  readonly fromTable: boolean
  /** Where NULL means the default of a column: nowhere, where it must have a value, or wherever it has a default. */
  readonly fillsDefaults: 'never' | 'required' | 'always'
}

/** Far more than a statement of the allowed size needs; less than would harm the server. */
const MAX_SQL_LENGTH = 8 * 1024 * 1024

export function emitExpression(node: BoundExpression, emission: Emission): Sql {
  const sql = emission.node(node, emission)
  if (sql.length > MAX_SQL_LENGTH) throw refuse('Limit.Complexity', 'The statement is too large for the database')
  return sql
}
