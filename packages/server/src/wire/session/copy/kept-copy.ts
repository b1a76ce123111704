/** The rows of a COPY FROM that a block keeps until COMMIT. */
import type { BulkFormat } from '../../../query/codecs.ts'

export interface KeptCopy {
  readonly table: string
  readonly columns: readonly string[]
  readonly format: BulkFormat
  readonly parts: readonly Uint8Array[]
  /** The memory that was taken for it. */
  readonly counted: number
}
