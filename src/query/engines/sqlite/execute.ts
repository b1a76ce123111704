/** Runs one read on a connection and hands its result on in chunks; the same code in the server and in its reader processes. */
import type { Database, Statement } from 'better-sqlite3'
import type { Cell, Encoding, ResultColumn, RowEncoder } from '../../result/encoding.ts'
import type { Bindable, ReadLimits, ReadOutcome } from '../engine.ts'
import { cellReader } from './representation.ts'

/** What crosses to a reader process: plain data only. */
export interface ReadJob {
  readonly sql: string
  readonly parameters: readonly Bindable[]
  readonly columns: readonly ResultColumn[]
  readonly keyColumns: readonly ResultColumn[]
  readonly encoding: Encoding
  readonly limits: ReadLimits
}

export const CHUNK_BYTES = 64 * 1024

/** `drain` makes room in an encoder that has much to give and says how much it took; where it says nothing, the read is given up. */
export function runRead(
  rows: Iterable<unknown[]>,
  job: ReadJob,
  encoder: RowEncoder,
  drain: () => number | undefined,
  most = Number.POSITIVE_INFINITY,
): ReadOutcome | undefined {
  const readers = readersOf(job)
  const width = job.columns.length
  let { skip } = job.limits
  let rowCount = 0
  let written = 0
  let truncated: ReadOutcome['truncated'] = 'no'
  // One row after another in the same place: encoders take what they need of it at once.
  const row: Cell[] = []
  for (const raw of rows) {
    if (skip > 0) {
      skip--
      continue
    }
    if (rowCount >= job.limits.rows) truncated = 'rows'
    else if (written + encoder.pending >= job.limits.bytes) truncated = 'bytes'
    if (truncated !== 'no') break
    if (rowCount >= most) return undefined
    for (let index = 0; index < readers.length; index++) row[index] = readers[index]?.(raw[index]) ?? null
    encoder.add(row)
    rowCount++
    if (encoder.pending >= CHUNK_BYTES) {
      const taken = drain()
      if (taken === undefined) return undefined
      written += taken
    }
  }
  return { rowCount, truncated, lastKey: row.slice(width) }
}

/** The columns of a plan are the same object whenever it runs, and its key columns with them. */
const READERS = new WeakMap<readonly ResultColumn[], readonly ((raw: unknown) => Cell)[]>()

function readersOf({ columns, keyColumns }: ReadJob): readonly ((raw: unknown) => Cell)[] {
  const known = READERS.get(columns)
  if (known !== undefined) return known
  const readers = [...columns, ...keyColumns].map(cellReader)
  READERS.set(columns, readers)
  return readers
}

export function rowsOf(statement: Statement, parameters: readonly Bindable[]): Iterable<unknown[]> {
  return statement.iterate(...parameters) as Iterable<unknown[]>
}

/** A large statement takes megabytes once prepared. */
const LONGEST_KEPT = 10_000

/** How a statement gives its rows: exact are arrays with integers as bigint; the others give integers as numbers. */
const FORMS = {
  exact: (statement: Statement) => statement.raw(true).safeIntegers(true),
  arrays: (statement: Statement) => statement.raw(true),
  objects: (statement: Statement) => statement,
} as const
type Form = keyof typeof FORMS

/** Prepared statements by text, the least recently used forgotten first. */
export class Statements {
  readonly #database: Database
  readonly #byText = { exact: new Map(), arrays: new Map(), objects: new Map() } satisfies Record<
    Form,
    Map<string, Statement>
  >
  readonly #capacity: number

  constructor(database: Database, capacity = 500) {
    this.#database = database
    this.#capacity = capacity
  }

  get(sql: string, form: Form = 'exact'): Statement {
    const byText: Map<string, Statement> = this.#byText[form]
    const known = byText.get(sql)
    if (known !== undefined) {
      byText.delete(sql)
      byText.set(sql, known)
      return known
    }
    const statement = this.#database.prepare(sql)
    if (statement.reader) FORMS[form](statement)
    if (sql.length > LONGEST_KEPT) return statement
    byText.set(sql, statement)
    if (byText.size > this.#capacity) {
      const oldest = byText.keys().next()
      if (!oldest.done) byText.delete(oldest.value)
    }
    return statement
  }
}
