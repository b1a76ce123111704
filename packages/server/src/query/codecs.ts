/**
 * How other protocols than HTTP turn bytes into rows and rows into bytes. It is an entry beside `index.ts`, because a server without the
 * port of PostgreSQL clients loads none of it.
 */
export { bulkInsert, checkBulk } from './bulk/bulk.ts'
export { type BulkFormat, openReader } from './bulk/formats.ts'
export type { Vector } from './columns/batch.ts'
export { readNumeric } from './columns/binary-numeric.ts'
export { CHUNK_BYTES } from './engines/bounded-rows.ts'
export { TextBytes } from './results/text-bytes.ts'
export { DAYS_TO_2000, MICROS_TO_2000, wireCellWriter } from './results/wire-cells.ts'
export { copyHeader, wireRowWriter } from './results/wire-rows.ts'
