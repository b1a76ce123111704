/** What a column of a Parquet row group does, whatever its type. */
import type { Cell } from '../../model/result.ts'

export interface ParquetColumn {
  /** False if the value is NULL. */
  add(cell: Cell): boolean
  /** Bytes of the values that are not in a page yet. */
  readonly size: number
  /** Whether the values become one page at the end of the row group, however many they are. */
  readonly isOnePage: boolean
  /** The values since the last call, valid until the next `add`. */
  take(): PageValues
}

export interface PageValues {
  readonly values: Uint8Array
  readonly encoding: 'PLAIN' | 'RLE_DICTIONARY'
  /** The values that the indexes of the page refer to. */
  readonly dictionary?: { readonly count: number; readonly values: Uint8Array }
}
