/**
 * How other protocols than HTTP turn bytes into rows and rows into bytes, and insert rows in bulk. It is an entry beside `index.ts`, because
 * a server without the port of PostgreSQL clients loads none of it.
 */

export type { Vector } from './batches/batch.ts'
export { type BulkRun, checkBulk, runBulk } from './bulk/bulk.ts'
export { type BulkFormat, openReader } from './bulk/formats.ts'
export { CHUNK_BYTES } from './engines/bounded-rows.ts'
export { copyHeader, wireRowWriter } from './results/wire-rows.ts'
export { booleanWord } from './types/boolean.ts'
export { readNumeric } from './types/decimal.ts'
export { POSTGRES_TYPES, type PostgresType, type PostgresTypeName } from './types/postgres-types.ts'
export { TextBytes } from './types/text-bytes.ts'
export { representation } from './types/types.ts'
