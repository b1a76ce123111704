/**
 * Moves all data from SQLite to PostgreSQL or back: copies it in batches, compares every row, and marks the source so that it is no
 * longer served. A move that was interrupted continues where it was.
 */
import { hostname, userInfo } from 'node:os'
import { openAuditLog } from '../store/audit/audit.ts'
import { verifyAuditLog } from '../store/audit/verify.ts'
import { requireDatabase } from '../store/check-stored.ts'
import { type DataLocation, openUnmigrated } from '../store/database/database.ts'
import { removeMoveMark, writeMoveMark } from '../store/database/move-mark.ts'
import { type Agreement, agree } from './agreement.ts'
import { provideMasterKey } from './key-file.ts'
import { checkPlaces, lockPlaces, nameOfPlace } from './places.ts'
import { type MovedTable, MoveRefused, type Source, type Target, tableLabel } from './table.ts'
import { verifyTable } from './verify.ts'

export { reopen } from './reopen.ts'

export interface MoveOptions {
  readonly from: DataLocation
  readonly to: DataLocation
  /** As configured; undefined if it is in the data folder. */
  readonly masterKey: Buffer | undefined
  /** Only check whether everything can be moved. */
  readonly isDryRun: boolean
  readonly report: Report
}

export type Phase = 'checking' | 'copying' | 'comparing'

export interface Report {
  /** Called often. */
  progress(phase: Phase, table: string, rows: number): void
  note(text: string): void
}

export interface MoveSummary {
  readonly from: string
  readonly to: string
  readonly isResumed: boolean
  /** Empty in a dry run. */
  readonly tables: readonly { readonly name: string; readonly rows: number }[]
  /** Faults in the hash chain of the audit log, which the source had too. */
  readonly auditFaults: number
}

export async function moveData(options: MoveOptions): Promise<MoveSummary> {
  const { from, to, masterKey, isDryRun, report } = options
  await requireDatabase({ ...from, masterKey })
  const unlock = await lockPlaces(from, to, () => report.note('waiting for another gatehouse that is starting'))
  try {
    await checkPlaces(from, to)
    const agreement = await agree(from, to)
    const tables = await moveTables(options, agreement)
    const summary = { from: nameOfPlace(from), to: nameOfPlace(to), isResumed: agreement.isResumed, tables }
    if (isDryRun) return { ...summary, auditFaults: 0 }
    const rows = tables.reduce((sum, table) => sum + table.rows, 0)
    const auditFaults = await recordMove(to, { source: nameOfPlace(from), rows })
    await setMarks(from, to, agreement)
    return { ...summary, auditFaults }
  } finally {
    await unlock()
  }
}

async function moveTables(options: MoveOptions, agreement: Agreement): Promise<MoveSummary['tables']> {
  const { from, to, masterKey, isDryRun, report } = options
  const source = await openSource(from)
  try {
    const tables = await source.tables()
    // The source has not changed since an earlier run checked it.
    if (!agreement.isResumed || isDryRun) await refuseUnmovable(source, tables, to, report)
    for (const name of await source.foreignTables(tables))
      report.note(`not moved, because Gatehouse did not create it: ${name}`)
    if (isDryRun) return []
    provideMasterKey(from, to, masterKey)
    await agreement.begin()
    await source.hold()
    return await copyAndVerify(source, to, tables, report)
  } finally {
    await source.close()
  }
}

async function openSource({ dataFolder, url }: DataLocation): Promise<Source> {
  if (url === '') return (await import('./sqlite-source.ts')).openSqliteSource(dataFolder)
  return (await import('./postgres-source.ts')).openPostgresSource(url, dataFolder)
}

async function openTarget({ dataFolder, url }: DataLocation): Promise<Target> {
  if (url === '') return (await import('./sqlite-target.ts')).openSqliteTarget(dataFolder)
  return (await import('./postgres-target.ts')).openPostgresTarget(url, dataFolder)
}

/** The most tables that the server creates in SQLite. */
const SQLITE_TABLES = 5000
const MOST_PROBLEMS = 20

async function refuseUnmovable(
  source: Source,
  tables: readonly MovedTable[],
  to: DataLocation,
  { progress }: Report,
): Promise<void> {
  const created = tables.filter(({ definition }) => definition !== undefined).length
  if (to.url === '' && created > SQLITE_TABLES)
    throw new MoveRefused(
      `There are ${created} tables, and SQLite holds at most ${SQLITE_TABLES}: drop some. Nothing was copied.`,
    )
  const problems: string[] = []
  for (const table of tables) {
    progress('checking', tableLabel(table), 0)
    problems.push(...(await source.unmovable(table, MOST_PROBLEMS - problems.length)))
    if (problems.length >= MOST_PROBLEMS) break
  }
  if (problems.length === 0) return
  const count = problems.length === MOST_PROBLEMS ? `At least ${MOST_PROBLEMS}` : problems.length
  throw new MoveRefused(
    `${count} values cannot be moved to ${nameOfPlace(to)}:\n${problems.map((problem) => `  ${problem}\n`).join('')}Nothing was copied, and the source can be served as before. Change these values, or delete their rows, and move again.`,
  )
}

async function copyAndVerify(
  source: Source,
  to: DataLocation,
  tables: readonly MovedTable[],
  report: Report,
): Promise<MoveSummary['tables']> {
  const target = await openTarget(to)
  try {
    await target.prepare(tables.some(({ part }) => part === 'query'))
    const progress = await target.progress()
    for (const table of tables) {
      const copying = copyTable(source, target, table, progress.get(tableLabel(table)), report)
      await copying.catch((error: unknown) => {
        throw explainFailure(error, table, target)
      })
    }
    const verified: { name: string; rows: number }[] = []
    for (const table of tables) {
      const name = tableLabel(table)
      const before = progress.get(name)
      const rows = before?.state === 'verified' ? before.rows : await compareTable(source, target, table, report)
      verified.push({ name, rows })
    }
    await target.finish(tables, await source.lastEvent())
    return verified
  } finally {
    await target.close()
  }
}

async function copyTable(
  source: Source,
  target: Target,
  table: MovedTable,
  before: { readonly rows: number; readonly state: string } | undefined,
  report: Report,
): Promise<void> {
  if (before !== undefined && before.state !== 'copying') return
  if (before === undefined) await target.begin(table)
  let total = before?.rows ?? 0
  report.progress('copying', tableLabel(table), total)
  // The next rows are read while these are written.
  let written = Promise.resolve()
  for await (const rows of source.rows(table, 'stored', total)) {
    await written
    report.progress('copying', tableLabel(table), total)
    total += rows.length
    written = target.append(table, rows, total)
    // Awaited above or below; until then a failure must not end the process.
    written.catch(() => {})
  }
  await written
  await target.copied(table)
}

/** SQLSTATE classes of values that PostgreSQL refuses: data exception, constraint violation, limit exceeded (a row that is too long). */
const REFUSED_VALUES = ['22', '23', '54']

function explainFailure(error: unknown, table: MovedTable, { location }: Target): unknown {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  if (!(error instanceof Error) || code.length !== 5 || !REFUSED_VALUES.includes(code.slice(0, 2))) return error
  return new MoveRefused(
    `${location} refuses rows of the table ${tableLabel(table)}: ${error.message}. Give the move up with "gatehouse move --reopen", change these rows, remove what the target holds, and move again.`,
    { cause: error },
  )
}

async function compareTable(source: Source, target: Target, table: MovedTable, report: Report): Promise<number> {
  const onRows = (rows: number): void => report.progress('comparing', tableLabel(table), rows)
  const rows = await verifyTable(table, source, target, onRows)
  await target.verified(table)
  return rows
}

/** Returns the number of faults in the audit log, which continues with an entry about the move. */
async function recordMove(to: DataLocation, details: { source: string; rows: number }): Promise<number> {
  const database = openUnmigrated({ ...to, poolSize: 1 })
  try {
    const { faults } = await verifyAuditLog(database)
    const audit = openAuditLog(database, { clock: Date.now, node: `${hostname()}:${process.pid}`, onError: rethrow })
    audit.record({ event: 'data.moved', details, actor: `local:${userInfo().username}` })
    await audit.close()
    return faults.length
  } finally {
    await database.close()
  }
}

/** The source first: if this is interrupted, neither is served, and the next run finishes it. */
async function setMarks(from: DataLocation, to: DataLocation, { id }: Agreement): Promise<void> {
  const source = openUnmigrated({ ...from, poolSize: 1 })
  try {
    await writeMoveMark(source, { id, state: 'left', other: nameOfPlace(to), at: Date.now() })
  } finally {
    await source.close()
  }
  const target = openUnmigrated({ ...to, poolSize: 1 })
  try {
    await removeMoveMark(target)
  } finally {
    await target.close()
  }
}

function rethrow(error: unknown): never {
  throw error
}
