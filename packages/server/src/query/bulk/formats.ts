/** The formats of bulk inserts: a table. Each reader is loaded with the first body that has its format. */
import { badBody } from '../batches/row-error.ts'
import type { CsvOptions } from './csv.ts'
import type { BodyStore, BulkReader, ByteSource } from './reader.ts'
import type { Zone } from './zone.ts'

/** `columns`: names that the request gives, where the format does not. */
export type BulkFormat =
  | { readonly kind: 'csv'; readonly options: CsvOptions }
  | { readonly kind: 'ndjson' | 'arrow' | 'parquet'; readonly zone?: Zone | undefined }
  /** The formats of PostgreSQL's COPY. */
  | { readonly kind: 'copy-text'; readonly delimiter: string; readonly null: string; readonly hasHeader: boolean }
  | { readonly kind: 'copy-csv'; readonly options: CsvOptions }
  | { readonly kind: 'copy-binary' }

export async function openReader(
  format: BulkFormat,
  source: ByteSource,
  columns: readonly string[] | undefined,
  store?: BodyStore,
): Promise<BulkReader> {
  switch (format.kind) {
    case 'csv':
      return (await import('./csv.ts')).openCsv(source, format.options)
    case 'ndjson':
      return (await import('./ndjson.ts')).openNdjson(source, columns, format.zone)
    case 'arrow':
      return (await import('./arrow/arrow.ts')).openArrow(source, needed(store), format.zone)
    case 'parquet':
      return (await import('./parquet/parquet.ts')).openParquetBody(source, needed(store), format.zone)
    case 'copy-text':
      return (await import('./copy-text.ts')).openCopyText(source, format)
    case 'copy-csv':
      return (await import('./copy-text.ts')).openCopyCsv(source, format.options)
    case 'copy-binary':
      return (await import('./copy-binary.ts')).openCopyBinary(source)
  }
}

function needed(store: BodyStore | undefined): BodyStore {
  if (store === undefined) throw new Error('A format that needs its whole body, which is not kept')
  return store
}

/** The columns of the rows: those of the body, or those of the request. */
export function chooseNames({ names }: BulkReader, given: readonly string[] | undefined): readonly string[] {
  const all = names ?? given
  if (all === undefined || all.length === 0)
    throw badBody('The body does not name its columns: add the query parameter columns')
  if (names !== undefined && given !== undefined && names.length !== given.length)
    throw badBody(`The body has ${names.length} columns, and the request names ${given.length}`)
  // Names of the request replace those of the body, which may be any.
  return given ?? all
}
