/** What retention asks about the views of a table: those that group by a bucket of its time outlive the rows. */
import type { TableDefinition } from '../catalogue/definition.ts'
import type { KeeperTerm } from '../engines/keeper-lease.ts'

export interface BucketedView {
  readonly name: string
  /** The start of the bucket that holds a time, in microseconds since the epoch. */
  bucketStart(time: bigint): Promise<bigint>
  /** Whether it has evaluated every row that was committed before this horizon settled. */
  hasReadPast(horizon: bigint): Promise<boolean>
  /** From now on groups that begin before the cut are not evaluated. */
  freeze(term: KeeperTerm, cut: bigint): Promise<void>
}

export interface ViewsOfTable {
  /** Those whose rows stay when the rows of the table go. */
  readonly bucketed: readonly BucketedView[]
  /** The names of those whose rows go with them. */
  readonly others: readonly string[]
}

/** Of a table as it is, or as it would be. */
export type FindViews = (table: TableDefinition) => Promise<ViewsOfTable>

/** The start of the earliest bucket that holds the horizon: rows before it are in no bucket that is still evaluated. */
export async function computeCut(horizon: bigint, { bucketed }: ViewsOfTable): Promise<bigint> {
  const starts = await Promise.all(bucketed.map((view) => view.bucketStart(horizon)))
  return starts.reduce((cut, start) => (start < cut ? start : cut), horizon)
}
