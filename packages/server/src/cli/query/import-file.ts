/** `gatehouse import --format ndjson|arrow|parquet`: the file is sent as it is, in one request, and inserted as a whole or not at all. */
import { openAsBlob } from 'node:fs'
import type { Duplicates } from 'gatehouse-csv'
import { CommandError } from '../errors.ts'
import type { Gate } from '../gate.ts'
import { membersOf } from '../output/json.ts'
import { describeTable } from './import-target.ts'
import { insertPath } from './insert-rows.ts'

export const FILE_TYPES: ReadonlyMap<string, string> = new Map([
  ['ndjson', 'application/x-ndjson'],
  ['arrow', 'application/vnd.apache.arrow.stream'],
  ['parquet', 'application/vnd.apache.parquet'],
])

export async function importFile(
  gate: Gate,
  table: string,
  file: string,
  type: string,
  duplicates: Duplicates,
): Promise<void> {
  if ((await describeTable(gate, table)) === undefined)
    throw new CommandError(`There is no table ${table}: create it first; only CSV files can be imported with --create`)
  const response = await gate.request(insertPath(table, { duplicates }), {
    method: 'POST',
    body: await openAsBlob(file),
    headers: { 'content-type': type },
    attempts: 1,
  })
  const { RowsAffected, Replaced, Skipped } = membersOf(await response.json())
  const [affected, replaced, skipped] = [RowsAffected, Replaced, Skipped].map((value) => Number(value ?? 0))
  process.stdout.write(
    summaryOf({ inserted: (affected ?? 0) - (replaced ?? 0), replaced: replaced ?? 0, skipped: skipped ?? 0 }),
  )
}

export interface Counts {
  readonly inserted: number
  readonly replaced: number
  readonly skipped: number
}

export function summaryOf({ inserted, replaced, skipped }: Counts): string {
  const rows = (count: number): string => `${count} ${count === 1 ? 'row' : 'rows'}`
  const lines = [`${rows(inserted)} inserted`]
  if (replaced > 0) lines.push(`${rows(replaced)} replaced`)
  if (skipped > 0) lines.push(`${rows(skipped)} skipped: their keys were taken`)
  return `${lines.join('\n')}\n`
}
