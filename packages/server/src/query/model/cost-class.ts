/** Classes of statements by how many rows they touch. */

/** How many rows a statement touches, as far as its plan proves it. */
export type CostClass =
  /** One row at most. */
  | 'point'
  /** At most `BOUNDED_ROWS`. */
  | 'bounded'
  /** Any number, but an index finds each at little cost: a read may start on the event loop and move elsewhere when it grows. */
  | 'indexed'
  | 'unbounded'

/** The rows that one statement may read on the event loop. */
export const BOUNDED_ROWS = 100

export function isBounded(cost: CostClass): boolean {
  return cost === 'point' || cost === 'bounded'
}
