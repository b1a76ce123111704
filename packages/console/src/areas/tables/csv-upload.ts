/** Sends the rows of a CSV file in batches, each exactly once, and finds the rows that the table rejects. */

import { rowFields, rowJson, type TargetColumn, withoutNotes } from 'gatehouse-csv'
import { GatehouseError } from '../../../../client/src/index.ts'
import { gate } from '../../gate.ts'
import { type CsvSample, type Misfit, readRecords } from './csv-file.ts'

export interface Upload {
  readonly inserted: number
  readonly rejected: readonly Misfit[]
  /** Bytes of the file that have been read. */
  readonly read: number
}

interface Pending {
  readonly line: number
  readonly raw: string
  readonly json: string
}

const BATCH_ROWS = 1000
const BATCH_CHARACTERS = 1_000_000
/** Statuses that a single row can cause. */
const ROW_STATUSES: readonly number[] = [400, 409, 413, 422]

export async function uploadFile(
  file: Blob,
  table: string,
  { delimiter, isRejected }: Pick<CsvSample, 'delimiter' | 'isRejected'>,
  targets: readonly (TargetColumn | undefined)[],
  signal: AbortSignal,
  onProgress: (upload: Upload) => void,
): Promise<Upload> {
  const id = crypto.randomUUID()
  const rejected: Misfit[] = []
  let [inserted, batch, read, characters] = [0, 0, 0, 0]
  let pending: Pending[] = []
  const flush = async () => {
    const refused = await insert(table, pending, `import-${id}-${batch++}`, signal)
    inserted += pending.length - refused.length
    rejected.push(...refused)
    pending = []
    characters = 0
    onProgress({ inserted, rejected: [...rejected], read })
  }
  let isHeader = true
  for await (const record of readRecords(file, signal)) {
    read = record.read
    if (isHeader) {
      isHeader = false
      continue
    }
    const { line } = record
    const raw = isRejected ? withoutNotes(record.raw, delimiter) : record.raw
    const row = rowFields(raw, { delimiter }, targets)
    if ('reason' in row) rejected.push({ line, raw, reason: row.reason })
    else {
      const json = rowJson(row.fields)
      pending.push({ line, raw, json })
      characters += json.length
    }
    if (pending.length >= BATCH_ROWS || characters >= BATCH_CHARACTERS) await flush()
  }
  await flush()
  rejected.sort((a, b) => a.line - b.line)
  return { inserted, rejected, read: file.size }
}

/** A batch is inserted as a whole or not at all: one that is refused is halved until the rows are found. */
async function insert(table: string, rows: readonly Pending[], key: string, signal: AbortSignal): Promise<Misfit[]> {
  if (rows.length === 0) return []
  try {
    await gate.request(`/Query/${encodeURIComponent(table)}/Insert`, {
      method: 'POST',
      // As text: a value that JavaScript would round stays as it is in the file.
      body: `[${rows.map(({ json }) => json).join(',')}]`,
      headers: { 'idempotency-key': key },
      idempotent: true,
      signal,
    })
    return []
  } catch (error) {
    if (!(error instanceof GatehouseError) || !ROW_STATUSES.includes(error.status ?? 0)) throw error
    const [only] = rows
    if (only !== undefined && rows.length === 1)
      return [{ line: only.line, raw: only.raw, reason: `${error.code}: ${error.message}` }]
    const middle = rows.length >> 1
    return [
      ...(await insert(table, rows.slice(0, middle), `${key}a`, signal)),
      ...(await insert(table, rows.slice(middle), `${key}b`, signal)),
    ]
  }
}
