/** `gatehouse import` of NDJSON, Arrow or Parquet: the file is sent as it is, in one request, and inserted as a whole or not at all. */
import { openAsBlob } from 'node:fs'
import type { Duplicates } from 'gatehouse-csv'
import { typeName } from 'gatehouse-iql'
import { GatehouseError } from '../../../../client/src/index.ts'
import { CommandError, UsageError } from '../errors.ts'
import type { Gate } from '../gate.ts'
import { asObject } from '../output/json.ts'
import { printTable } from '../output/table.ts'
import { columnsOfFile } from './file-types.ts'
import type { FileFormat } from './import-format.ts'
import { checkKeys, createTable, describeTable } from './import-target.ts'
import { insertPath } from './insert-rows.ts'

export interface FileImport {
  readonly file: string
  readonly format: FileFormat
  readonly table: string
  readonly duplicates: Duplicates
  readonly zone: string | undefined
  readonly isDryRun: boolean
  /** How the table is made if it does not exist; undefined without --create. */
  readonly create:
    | { readonly keys: readonly string[]; readonly types: readonly (readonly [string, string])[] }
    | undefined
}

export async function importFile(gate: Gate, work: FileImport): Promise<void> {
  const { table, duplicates, zone, isDryRun } = work
  if (!(await prepareTable(gate, work))) return
  const parameters = { duplicates, ...(zone === undefined ? {} : { timezone: zone }) }
  const reply = await send(gate, work, insertPath(table, isDryRun ? { ...parameters, dryrun: 'true' } : parameters))
  const [affected = 0, replaced = 0, skipped = 0] = [reply.RowsAffected, reply.Replaced, reply.Skipped].map((value) =>
    Number(value ?? 0),
  )
  if (isDryRun) show(work, asObject(reply.Columns), affected)
  else process.stdout.write(summarize({ inserted: affected - replaced, replaced, skipped }))
}

/** False for a dry run that would create the table: there is nothing more to try. */
async function prepareTable(gate: Gate, { file, format, table, isDryRun, create }: FileImport): Promise<boolean> {
  if ((await describeTable(gate, table)) !== undefined) return true
  if (format.name === 'NDJSON')
    throw new CommandError(`There is no table ${table}: create it first, since the lines of ${file} have no types`)
  if (create === undefined && !isDryRun)
    throw new UsageError(`There is no table ${table}; use --create to create it with the types of the file`)
  const { keys, types } = create ?? { keys: [], types: [] }
  const columns = await columnsOfFile(file, format, types)
  checkKeys(
    keys,
    columns.map(({ name }) => name),
  )
  process.stdout.write(`format: ${format.name}\n`)
  printTable(
    ['COLUMN', 'TYPE'],
    columns.map(({ name, type }) => [name, typeName(type)]),
  )
  if (!isDryRun) {
    await createTable(gate, table, columns, keys)
    return true
  }
  process.stdout.write(`There is no table ${table}, which --create creates like this; nothing was written\n`)
  return false
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
    return asObject(await response.json())
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
  const types = Object.entries(columns).map(([name, column]) => [name, String(asObject(column).Type)] as const)
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

export function summarize({ inserted, replaced, skipped }: Counts): string {
  const rows = (count: number): string => `${count} ${count === 1 ? 'row' : 'rows'}`
  const lines = [`${rows(inserted)} inserted`]
  if (replaced > 0) lines.push(`${rows(replaced)} replaced`)
  if (skipped > 0) lines.push(`${rows(skipped)} skipped: their keys were taken`)
  return `${lines.join('\n')}\n`
}
