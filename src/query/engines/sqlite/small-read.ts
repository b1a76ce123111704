/** Reads that are done on the event loop: one row by its key, a few rows, or the first of many to see whether there are more. */
import type { Statement } from 'better-sqlite3'
import { FEW_ROWS } from '../../cost.ts'
import { createTextEncoder, type ResultColumn } from '../../result/encoding.ts'
import type { Bindable, WholeRead } from '../engine.ts'
import { rowsOf, runRead, type Statements } from './execute.ts'
import { readPlain, type SmallRead } from './plain-read.ts'
import { boundedOutputs, longOf, MOST_COLUMNS } from './row-bounds.ts'

/** Undefined when the result is not small after all: it is then for a reader process. */
export function readSmall(statements: Statements, request: SmallRead): WholeRead | undefined {
  const plain = readPlain(statements, request)
  if (plain !== undefined) return plain === 'large' ? undefined : plain
  const rows = takeRows(statements, request)
  if (rows === undefined) return undefined
  const encoder = createTextEncoder(request.encoding, request.columns)
  const outcome = runRead(rows, request, encoder, GIVE_UP, FEW_ROWS)
  return outcome === undefined ? undefined : { text: encoder.takeText(), outcome }
}

/** A result that fills a chunk is not small. */
const GIVE_UP = (): undefined => undefined

function takeRows(statements: Statements, request: SmallRead): Iterable<unknown[]> | undefined {
  const { sql, parameters, reach, limits, columns } = request
  if (reach === 'one row') return oneRow(statements.get(sql), parameters)
  if (reach === 'row by row' && limits.skip === 0 && columns.length <= MOST_COLUMNS)
    return firstRows(statements, request)
  return rowsOf(statements.get(sql), parameters)
}

/** Half the cost of the same row out of an iterator. */
function oneRow(statement: Statement, parameters: readonly Bindable[]): Iterable<unknown[]> {
  const row = statement.get(...parameters) as unknown[] | undefined
  return row === undefined ? [] : [row]
}

/** An array of rows costs a third of an iterator over them. */
function firstRows(statements: Statements, request: SmallRead): unknown[][] | undefined {
  const { sql, long } = boundedOf(request)
  const rows = statements.get(sql).all(...request.parameters) as unknown[][]
  return rows.some((row) => long.some((index) => typeof row[index] === 'bigint')) ? undefined : rows
}

interface Bounded {
  readonly sql: string
  /** Where a number stands for a text or bytes that are too long. */
  readonly long: readonly number[]
}

/** The columns of a plan are the same object whenever it runs. */
const BOUNDED = new WeakMap<readonly ResultColumn[], Bounded>()

/** One row more than is small, and no value that is large. */
function boundedOf({ sql, columns, keyColumns }: SmallRead): Bounded {
  const known = BOUNDED.get(columns)
  if (known !== undefined) return known
  const all = [...columns, ...keyColumns]
  const long = longOf(all)
  const outputs = [...boundedOutputs(columns, 'c', long.length), ...boundedOutputs(keyColumns, 'k', long.length)]
  const bounded = { sql: `SELECT ${outputs.join(', ')} FROM (${sql}) LIMIT ${FEW_ROWS + 1}`, long }
  BOUNDED.set(columns, bounded)
  return bounded
}
