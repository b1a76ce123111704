/** The rows of one table of the catalogue. Columns that are not given have the default of their type. */
import type { Value } from '../functions/values.ts'
import type { CatalogueModel } from './catalogue-model.ts'

/** Binding values takes most of the time, so as few as possible are bound. */
export interface Filling extends RowSet {
  /** Equal in all rows: not stored. */
  readonly constants?: Readonly<Record<string, Value>>
  /** SQL of other columns: not stored. */
  readonly derived?: Readonly<Record<string, string>>
  /** Rows that have further columns in common. */
  readonly more?: readonly RowSet[]
}

export interface RowSet {
  readonly columns: readonly string[]
  /** Equal in these rows. */
  readonly fixed?: Readonly<Record<string, Value>>
  readonly rows: Iterable<readonly Value[]>
}

/** `tables` are those of the model, or the one that a statement asks for. */
export type Fill = (model: Pick<CatalogueModel, 'tables' | 'index'>, isWhole: boolean) => Filling

export const HEAP = 2
export const BTREE = 403
/** The collation `default`. */
export const COLLATION = 100
/** That of the catalogue's own texts. */
export const C_COLLATION = 950
