/** The mark of a database that was moved, or is being moved, to another one: of two copies at most one may be served. */
import { sql } from 'kysely'
import type { Database } from './database.ts'
import { UnfitDatabase } from './unfit-database.ts'

/**
 * `arriving`: the target, as long as not every row is there and compared. `leaving`: the source meanwhile. `left`: the source
 * afterwards; the target then has no mark.
 */
const STATES = ['arriving', 'leaving', 'left'] as const
export type MoveState = (typeof STATES)[number]

export interface MoveMark {
  /** Equal in both databases. */
  readonly id: string
  readonly state: MoveState
  /** The file or URL of the other database, without credentials. */
  readonly other: string
  /** When the move began, or ended. */
  readonly at: number
}

/** No part of the schema: only a database that is moved has it. */
export const MARK_TABLE = 'move_mark'

type Marked = Pick<Database, 'db' | 'engine'>

export async function readMoveMark({ db, engine }: Marked): Promise<MoveMark | undefined> {
  const { rows: found } =
    engine === 'postgres'
      ? await sql`select 1 from pg_tables where schemaname = 'gatehouse' and tablename = ${MARK_TABLE}`.execute(db)
      : await sql`select 1 from sqlite_schema where name = ${MARK_TABLE}`.execute(db)
  if (found.length === 0) return undefined
  const { rows } = await sql<{ id: string; state: string; other: string; at: number }>`
    select id, state, other, at from ${sql.table(MARK_TABLE)}`.execute(db)
  const [row] = rows
  const state = STATES.find((known) => known === row?.state)
  return row === undefined || state === undefined ? undefined : { ...row, state, at: Number(row.at) }
}

export async function writeMoveMark({ db, engine }: Marked, { id, state, other, at }: MoveMark): Promise<void> {
  await db.transaction().execute(async (tx) => {
    if (engine === 'postgres') await sql`create schema if not exists gatehouse`.execute(tx)
    await sql`create table if not exists ${sql.table(MARK_TABLE)} (id text not null, state text not null,
      other text not null, at bigint not null)`.execute(tx)
    await sql`delete from ${sql.table(MARK_TABLE)}`.execute(tx)
    await sql`insert into ${sql.table(MARK_TABLE)} (id, state, other, at) values (${id}, ${state}, ${other}, ${at})`.execute(
      tx,
    )
  })
}

export async function removeMoveMark({ db }: Marked): Promise<void> {
  await sql`drop table if exists ${sql.table(MARK_TABLE)}`.execute(db)
}

/** Throws UnfitDatabase. */
export async function refuseMoved(database: Pick<Database, 'db' | 'engine' | 'location'>): Promise<void> {
  const mark = await readMoveMark(database)
  if (mark !== undefined) throw new UnfitDatabase(explainMark(mark, database.location))
}

export function explainMark(mark: MoveMark, location: string): string {
  const { message, mend } = describeMark(mark, location)
  return `${message}: ${mend}`
}

const CONTINUE = 'run "gatehouse move" again as before, which continues it'

export function describeMark({ state, other, at }: MoveMark, location: string): { message: string; mend: string } {
  switch (state) {
    case 'arriving':
      return { message: `The database ${location} holds an unfinished move from ${other}`, mend: `${CONTINUE}.` }
    case 'leaving':
      return {
        message: `The database ${location} is being moved to ${other}, and the move is unfinished`,
        mend: `${CONTINUE}, or give it up with "gatehouse move --reopen".`,
      }
    case 'left':
      return {
        message: `The database ${location} was moved to ${other} at ${new Date(at).toISOString()} and is no longer served, because two copies would diverge`,
        mend: 'set GATEHOUSE_DATABASE_URL or GATEHOUSE_DATA to the other. To serve this one again, without what has changed in the other since, run "gatehouse move --reopen".',
      }
  }
}
