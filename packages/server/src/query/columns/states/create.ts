/** The state for each kind of the plan. */
import type { ColumnState } from '../plan.ts'
import { Ends, Extremes } from './extremes.ts'
import { Products } from './products.ts'
import type { HeldBytes, State } from './state.ts'
import { Counts, DoubleSums, Sums } from './sums.ts'
import { ValueCounts } from './value-counts.ts'

/** `held` counts what grows with the values. */
export function createState(state: ColumnState, held: HeldBytes): State {
  switch (state.kind) {
    case 'rows':
      return new Counts(undefined)
    case 'count':
      return new Counts(state.column)
    case 'sum':
      return new Sums(state.column)
    case 'double-sum':
      return new DoubleSums(state.column)
    case 'min':
    case 'max':
      return new Extremes(state.column, state.kind === 'min' ? 1 : -1, held)
    case 'first':
    case 'last':
      return new Ends(state, state.kind === 'first' ? 1 : -1, held)
    case 'values':
      return new ValueCounts(state.column, held)
    case 'products':
    case 'weighted':
      return new Products(state.kind, state.column, state.order)
    case 'spread':
      return new Products(state.kind, state.column, state.column)
  }
}
