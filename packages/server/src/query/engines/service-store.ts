/** How the service reaches its own tables in the query database, whichever the engine is. */
import type { Sql } from './emit/dialect.ts'
import type { Bind, Bindable, SqlStatement } from './emit/parameters.ts'

export interface ServiceStore {
  readonly schema: string
  readonly bind: Bind
  /** The time by the clock of the database, in milliseconds. */
  readonly now: Sql
  /** The rows of a JSON array of arrays, which the placeholder stands for, with names for their elements: an item of FROM. */
  readonly rows: (placeholder: string, columns: readonly (readonly [name: string, type: 'text' | 'integer'])[]) => Sql
  read<Row extends object>(build: BuildSql): Promise<readonly Row[]>
  /** The statement as it is run: for what takes too long for `read`, which SQLite does on the event loop. */
  build(build: BuildSql): SqlStatement
  /**
   * Runs the statements in one transaction, those after the first only if that one changes something; no other node changes the
   * table `locked` meanwhile. Returns the rows that the first changed.
   */
  write(builds: readonly BuildSql[], locked?: string): Promise<number>
  /**
   * Runs the statements in one transaction of the keeper. Returns the rows that each changed. Throws `TermLost`. `onBlocked` is told for how
   * many milliseconds the transaction kept others from writing to the database, if it did.
   */
  writeInTerm(
    term: TermOfKeeper,
    builds: readonly BuildSql[],
    onBlocked?: (milliseconds: number) => void,
  ): Promise<readonly number[]>
}

/** See keeper-lease.ts. */
export interface TermOfKeeper {
  readonly node: string
  readonly epoch: number
}

/** Writes the text of a statement. `value` adds a parameter, and returns its placeholder. */
export type BuildSql = (value: (value: Bindable) => string) => string

export function buildStatement(build: BuildSql, placeholder: (position: number) => string): SqlStatement {
  const parameters: Bindable[] = []
  const sql = build((value) => placeholder(parameters.push(value)))
  return { sql, parameters }
}
