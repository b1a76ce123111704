/** What the marks of both databases say about a move: whether it may begin, continue, or must be refused. */
import { randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import { sql } from 'kysely'
import { openDataFolder } from '../store/database/data-folder.ts'
import { type Database, type DataLocation, openUnmigrated } from '../store/database/database.ts'
import { explainMark, MARK_TABLE, type MoveMark, readMoveMark, writeMoveMark } from '../store/database/move-mark.ts'
import { nameOfPlace } from './places.ts'
import { databaseFile, PARTS } from './sqlite-rows.ts'
import { MoveRefused } from './table.ts'

export interface Agreement {
  readonly id: string
  /** Whether an earlier run has begun it. */
  readonly isResumed: boolean
  /** Marks both databases: from now on neither can be served. */
  begin(): Promise<void>
}

/** Writes nothing. Throws MoveRefused. */
export async function agree(from: DataLocation, to: DataLocation): Promise<Agreement> {
  const source = await withDatabase(from, readMoveMark)
  const target = await lookAt(to)
  const begin = (id: string) => async (): Promise<void> => {
    // The source first: a target with a mark that the source does not have could not be continued.
    await mark(from, { id, state: 'leaving', other: nameOfPlace(to), at: Date.now() })
    if (to.url === '') openDataFolder(to.dataFolder)
    await mark(to, { id, state: 'arriving', other: nameOfPlace(from), at: Date.now() })
  }
  if (source !== undefined && target.mark?.state === 'arriving' && target.mark.id === source.id)
    return { id: source.id, isResumed: true, begin: async () => {} }
  const isStartedAgain = source?.state === 'leaving' && source.other === nameOfPlace(to)
  if (source !== undefined && !isStartedAgain) throw new MoveRefused(explainMark(source, nameOfPlace(from)))
  if (target.content !== undefined) throw new MoveRefused(explainOccupied(to, target))
  const id = source?.id ?? randomUUID()
  return { id, isResumed: false, begin: begin(id) }
}

interface Occupancy {
  readonly mark: MoveMark | undefined
  /** A table or file that is there; undefined if there is none. */
  readonly content: string | undefined
}

async function lookAt(place: DataLocation): Promise<Occupancy> {
  if (place.url !== '') {
    return withDatabase(place, async (database) => ({
      mark: await readMoveMark(database),
      content: await firstTable(database),
    }))
  }
  const content = PARTS.map((part) => databaseFile(place.dataFolder, part)).find((file) => existsSync(file))
  const hasIdentity = existsSync(databaseFile(place.dataFolder, 'identity'))
  return { mark: hasIdentity ? await withDatabase(place, readMoveMark) : undefined, content }
}

async function firstTable({ db }: Database): Promise<string | undefined> {
  const { rows } = await sql<{ name: string }>`select schemaname || '.' || tablename as name from pg_tables
    where schemaname in ('gatehouse', 'gatehouse_data') order by tablename = ${MARK_TABLE}, 1 limit 1`.execute(db)
  return rows[0]?.name
}

function explainOccupied(to: DataLocation, { mark, content }: Occupancy): string {
  const how =
    to.url === ''
      ? 'move identity.db and query.db, with their -wal and -shm files, to another folder, or name another one with --to'
      : 'name an empty database, or drop its schemas gatehouse and gatehouse_data; what they contain is lost'
  const what =
    mark?.state === 'arriving'
      ? `holds an unfinished move from ${mark.other}, which is not continued because that database was reopened or is another one`
      : mark?.state === 'left'
        ? `holds the data that was moved to ${mark.other} at ${new Date(mark.at).toISOString()} (${content})`
        : `is not empty (it has ${content})`
  return `${nameOfPlace(to)} ${what}: ${how}. Nothing was copied.`
}

function mark(place: DataLocation, written: MoveMark): Promise<void> {
  return withDatabase(place, (database) => writeMoveMark(database, written))
}

export async function withDatabase<T>(place: DataLocation, use: (database: Database) => Promise<T>): Promise<T> {
  const database = openUnmigrated({ ...place, poolSize: 1 })
  try {
    return await use(database)
  } finally {
    await database.close()
  }
}
