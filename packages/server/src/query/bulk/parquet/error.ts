/** What is wrong with a Parquet file, in words for the sender. */
export class ParquetError extends Error {
  override name = 'ParquetError'
}

/** A value that IQL cannot hold. The reader adds the number of its row, from 1. */
export class ValueError extends ParquetError {
  readonly column: string
  row: number | undefined

  constructor(column: string, reason: string) {
    super(`Column ${JSON.stringify(column)}: ${reason}`)
    this.column = column
  }
}

export function damaged(reason: string): ParquetError {
  return new ParquetError(`The Parquet file is damaged: ${reason}`)
}
