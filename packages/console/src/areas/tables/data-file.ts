/** Parquet and Arrow files: recognised by their first bytes, read and inserted by the server as a whole. */
import type { Duplicates } from 'gatehouse-csv'
import { gate } from '../../gate.ts'

export interface DataFormat {
  readonly name: string
  readonly mediaType: string
}

const PARQUET: DataFormat = { name: 'Parquet', mediaType: 'application/vnd.apache.parquet' }
const ARROW: DataFormat = { name: 'Arrow', mediaType: 'application/vnd.apache.arrow.stream' }
/** An Arrow stream begins with the continuation marker. */
const STARTS: readonly (readonly [string, DataFormat])[] = [
  ['PAR1', PARQUET],
  ['ARROW1', ARROW],
  ['\xff\xff\xff\xff', ARROW],
]

/** Undefined for a text, which is taken as CSV. */
export async function detectDataFormat(file: Blob): Promise<DataFormat | undefined> {
  const start = String.fromCharCode(...new Uint8Array(await file.slice(0, 6).arrayBuffer()))
  return STARTS.find(([bytes]) => start.startsWith(bytes))?.[1]
}

export interface DataPreview {
  readonly rows: number
  readonly columns: readonly { readonly name: string; readonly type: string }[]
}

/** The server reads and checks the file, and inserts nothing. */
export async function previewData(file: Blob, format: DataFormat, table: string): Promise<DataPreview> {
  const reply = await send(file, format, table, { dryrun: 'true' })
  const columns = Object.entries(asObject(reply.Columns))
  return {
    rows: toNumber(reply.RowsAffected),
    columns: columns.map(([name, column]) => ({ name, type: String(asObject(column).Type) })),
  }
}

export interface DataOutcome {
  readonly inserted: number
  readonly replaced: number
  readonly skipped: number
}

/** `zone`: that of times which name none; empty for UTC. */
export async function insertData(
  file: Blob,
  format: DataFormat,
  table: string,
  { duplicates, zone }: { readonly duplicates: Duplicates; readonly zone: string },
): Promise<DataOutcome> {
  const reply = await send(file, format, table, { duplicates, ...(zone === '' ? {} : { timezone: zone }) })
  const replaced = toNumber(reply.Replaced)
  return { inserted: toNumber(reply.RowsAffected) - replaced, replaced, skipped: toNumber(reply.Skipped) }
}

async function send(
  file: Blob,
  { mediaType }: DataFormat,
  table: string,
  parameters: Readonly<Record<string, string>>,
) {
  const path = `/Query/${encodeURIComponent(table)}/Insert?${new URLSearchParams(parameters)}`
  const response = await gate.request(path, { method: 'POST', body: file, headers: { 'content-type': mediaType } })
  return asObject(await response.json())
}

function asObject(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? { ...value } : {}
}

function toNumber(value: unknown): number {
  return Number(value ?? 0)
}
