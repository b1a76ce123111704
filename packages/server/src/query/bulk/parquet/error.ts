/** What is wrong with a Parquet file, in words for whoever sent it. */
export class ParquetError extends Error {
  override name = 'ParquetError'
}

export function damaged(reason: string): ParquetError {
  return new ParquetError(`The Parquet file is damaged: ${reason}`)
}
