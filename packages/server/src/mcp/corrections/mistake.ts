/** An error of a statement, as rules look at it. */
import type { TableView } from 'gatehouse-iql'
import type { Pieces } from './pieces.ts'

export interface Mistake {
  readonly pieces: Pieces
  /** The index of the piece where the error is; 0 if that is not known. */
  readonly index: number
  readonly message: string
  readonly hint: string
  /** Those that the caller may read. */
  readonly findTable: (name: string) => TableView | undefined
  readonly tableNames: () => Iterable<string>
}

/** Statements that could be meant; none if the rule does not fit. */
export type Rule = (mistake: Mistake) => readonly (string | undefined)[]
