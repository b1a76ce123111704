/** `gatehouse import` of NDJSON, Arrow or Parquet: the file is sent as it is, in one request, and inserted as a whole or not at all. */
import { openAsBlob } from 'node:fs'
import type { Duplicates } from 'gatehouse-csv'
import { GatehouseError } from '../../../../client/src/index.ts'
import { CommandError } from '../errors.ts'
import type { Gate } from '../gate.ts'
import { membersOf } from '../output/json.ts'
import { printTable } from '../output/table.ts'
import type { FileFormat } from './import-format.ts'
import { describeTable } from './import-target.ts'
import { insertPath } from './insert-rows.ts'

export interface FileImport {
  readonly file: string
  readonly format: FileFormat
  readonly table: string
  readonly duplicates: Duplicates
  readonly zone: string | undefined
  readonly isDryRun: boolean
}

export async function importFile(gate: Gate, work: FileImport): Promise<void> {
  const { table, duplicates, zone, isDryRun } = work
  if ((await describeTable(gate, table)) === undefined)
    throw new CommandError(`There is no table ${table}: create it first; only CSV files can be imported with --create`)
  const parameters = { duplicates, ...(zone === undefined ? {} : { timezone: zone }) }
  const reply = await send(gate, work, insertPath(table, isDryRun ? { ...parameters, dryrun: 'true' } : parameters))
  const [affected = 0, replaced = 0, skipped = 0] = [reply.RowsAffected, reply.Replaced, reply.Skipped].map((value) =>
    Number(value ?? 0),
  )
  if (isDryRun) show(work, membersOf(reply.Columns), affected)
  else process.stdout.write(summaryOf({ inserted: affected - replaced, replaced, skipped }))
}

async function send(
  gate: Gate,
  { file, format }: FileImport,
  path: string,
): Promise<Readonly<Record<string, unknown>>> {
  try {
    const response = await gate.request(path, {
      method: 'POST',
      body: await openAsBlob(file),
      headers: { 'content-type': format.mediaType },
      attempts: 1,
    })
    return membersOf(await response.json())
  } catch (error) {
    if (!(error instanceof GatehouseError) || error.code !== 'Data.UniqueViolation') throw error
    // The server's own hint is for those who write requests.
    const { message, code, status, details } = error
    const Hint =
      'nothing was inserted; --duplicates skip leaves such rows out, --duplicates replace replaces the others'
    throw new GatehouseError(message, { code, status, details: { ...details, Hint } })
  }
}

/** How the server has read the file. */
function show({ format, table, zone }: FileImport, columns: Readonly<Record<string, unknown>>, rows: number): void {
  process.stdout.write(`format: ${format.name}\n`)
  const types = Object.entries(columns).map(([name, column]) => [name, String(membersOf(column).Type)] as const)
  printTable(
    ['COLUMN', 'TYPE', ...(zone === undefined ? [] : ['FORMAT'])],
    types.map(([name, type]) => [name, type, ...(zone === undefined ? [] : [type === 'Timestamp' ? zone : ''])]),
  )
  process.stdout.write(
    `${rows} ${rows === 1 ? 'row' : 'rows'} can be inserted into ${table}, unless keys are taken; nothing was written\n`,
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
