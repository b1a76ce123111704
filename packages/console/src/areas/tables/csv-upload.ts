/** Sends the rows of a CSV file in parts, each exactly once, and finds the rows that the table rejects. */
import {
  csvField,
  type Duplicates,
  insertPart,
  type PendingRow,
  rowCsv,
  rowFields,
  type TargetColumn,
  withoutNotes,
} from 'gatehouse-csv'
import { GatehouseError } from '../../../../client/src/index.ts'
import { gate } from '../../gate.ts'
import { type CsvSample, type Misfit, readRecords } from './csv-file.ts'

export interface Upload {
  readonly inserted: number
  readonly replaced: number
  readonly skipped: number
  readonly rejected: readonly Misfit[]
  /** Bytes of the file that have been read. */
  readonly read: number
}

export interface UploadOptions {
  readonly duplicates: Duplicates
  /** Texts that mean no value. */
  readonly nulls: ReadonlySet<string>
}

const PART_ROWS = 20_000
const PART_CHARACTERS = 8_000_000
/** Statuses that a single row can cause. */
const ROW_STATUSES: readonly number[] = [400, 409, 413, 422]

export async function uploadFile(
  file: Blob,
  table: string,
  { delimiter, isRejected }: Pick<CsvSample, 'delimiter' | 'isRejected'>,
  targets: readonly (TargetColumn | undefined)[],
  { duplicates, nulls }: UploadOptions,
  signal: AbortSignal,
  onProgress: (upload: Upload) => void,
): Promise<Upload> {
  const id = crypto.randomUUID()
  const header = targets.flatMap((target) => (target === undefined ? [] : [csvField(target.name)])).join(',')
  const rejected: Misfit[] = []
  let [inserted, replaced, skipped, part, read, characters] = [0, 0, 0, 0, 0, 0]
  let pending: PendingRow[] = []
  const flush = async () => {
    const outcome = await insertPart(senderTo(table, signal), header, pending, duplicates, `import-${id}-${part++}`)
    inserted += outcome.inserted
    replaced += outcome.replaced
    skipped += outcome.skipped
    rejected.push(...outcome.refused)
    pending = []
    characters = 0
    onProgress({ inserted, replaced, skipped, rejected: [...rejected], read })
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
    const row = rowFields(raw, { delimiter, nulls }, targets)
    if ('reason' in row) rejected.push({ line, raw, reason: row.reason })
    else {
      const csv = rowCsv(row.fields)
      pending.push({ line, raw, csv })
      characters += csv.length
    }
    if (pending.length >= PART_ROWS || characters >= PART_CHARACTERS) await flush()
  }
  await flush()
  rejected.sort((a, b) => a.line - b.line)
  return { inserted, replaced, skipped, rejected, read: file.size }
}

function senderTo(table: string, signal: AbortSignal) {
  return async (body: string, duplicates: string, key: string) => {
    try {
      const response = await gate.request(
        `/Query/${encodeURIComponent(table)}/Insert?duplicates=${duplicates}&nulls=default`,
        {
          method: 'POST',
          body,
          headers: { 'content-type': 'text/csv', 'idempotency-key': key },
          idempotent: true,
          signal,
        },
      )
      const reply: unknown = await response.json()
      return { reply }
    } catch (error) {
      if (!(error instanceof GatehouseError) || !ROW_STATUSES.includes(error.status ?? 0)) throw error
      return { refused: `${error.code}: ${error.message.replace(/^(?:Line|Row) \d+: /, '')}` }
    }
  }
}
