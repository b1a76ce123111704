/** What retention asks about the views of a table: those that group by a bucket of its time outlive the rows. */

export interface BucketedView {
  readonly name: string
  /** The start of the bucket that holds a time, in microseconds since the epoch. */
  bucketStart(time: bigint): bigint
  /** Whether it has evaluated every row that was committed before this horizon settled. */
  hasReadPast(horizon: bigint): Promise<boolean>
}

export interface ViewsOfTable {
  /** Those whose rows stay when the rows of the table go. */
  readonly bucketed: readonly BucketedView[]
  /** The names of those whose rows go with them. */
  readonly others: readonly string[]
}

export type FindViews = (table: string) => ViewsOfTable

export const NO_VIEWS: FindViews = () => ({ bucketed: [], others: [] })

/** The start of the earliest bucket that holds the horizon: rows before it are in no bucket that is still evaluated. */
export function computeCut(horizon: bigint, { bucketed }: ViewsOfTable): bigint {
  return bucketed.reduce((cut, view) => {
    const start = view.bucketStart(horizon)
    return start < cut ? start : cut
  }, horizon)
}
