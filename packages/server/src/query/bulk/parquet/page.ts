/** The values of a page as Parquet stores them, and which of them are NULL. */
import type { ValueReader } from './encodings.ts'
import type { RunReader } from './integers.ts'

export interface Page {
  readonly rows: number
  /** 1 for a value and 0 for NULL; undefined if no value can be NULL. */
  readonly levels: RunReader | undefined
  /** Without those that are NULL. */
  readonly values:
    | { readonly kind: 'plain'; readonly reader: ValueReader }
    | { readonly kind: 'indexed'; readonly indexes: RunReader }
}
