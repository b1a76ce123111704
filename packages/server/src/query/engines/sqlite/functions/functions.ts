/** Registers the SQL functions that the emitted SQL calls. */
import { rowTwiceError } from '../../runtime-error.ts'
import type { Raw } from './aggregate.ts'
import { findExtreme, registerAggregates } from './aggregates.ts'
import { CAST_FUNCTIONS } from './cast.ts'
import type { FunctionHost } from './function-host.ts'
import { NULLABLE_NUMBER_FUNCTIONS, NUMBER_FUNCTIONS, type SqliteFunction } from './number.ts'
import { PERCENTILE_FUNCTIONS } from './percentile.ts'
import { concat, TEXT_FUNCTIONS } from './text.ts'
import { TIME_FUNCTIONS } from './time.ts'
import { ZONE_FUNCTIONS } from './zones.ts'

const STRICT_FUNCTIONS: Record<string, SqliteFunction> = {
  ...NUMBER_FUNCTIONS,
  ...TEXT_FUNCTIONS,
  ...TIME_FUNCTIONS,
  ...ZONE_FUNCTIONS,
  ...CAST_FUNCTIONS,
  ...PERCENTILE_FUNCTIONS,
}

/** directOnly: a trigger or view in the file cannot call them. */
const OPTIONS = { deterministic: true, safeIntegers: true, directOnly: true }

export function registerFunctions(database: FunctionHost): void {
  for (const [name, run] of Object.entries(STRICT_FUNCTIONS))
    database.function(name, { ...OPTIONS, deterministic: name !== 'gh_uuid' }, strict(run))
  for (const [name, run] of Object.entries(NULLABLE_NUMBER_FUNCTIONS)) database.function(name, OPTIONS, run)
  database.function('gh_least', { ...OPTIONS, varargs: true }, (...values: Raw[]) => findExtreme(values, -1))
  database.function('gh_greatest', { ...OPTIONS, varargs: true }, (...values: Raw[]) => findExtreme(values, 1))
  database.function('gh_concat', { ...OPTIONS, varargs: true }, strict(concat))
  registerAggregates(database)
  registerRowTracking(database)
  database.function('gh_long_row', { ...OPTIONS, deterministic: false }, () => 1n)
}

/** NULL if an argument is, like a STRICT function of PostgreSQL. The number of arguments stays that of the function. */
function strict(run: SqliteFunction): (...args: unknown[]) => unknown {
  const strictly = (...args: unknown[]): unknown => (args.includes(null) ? null : run(...(args as never[])))
  return Object.defineProperty(strictly, 'length', { value: run.length })
}

/** Thrown before a row with long values is changed: the write must run in the writer process. */
export class LongRow extends Error {}

/** For the connection on the event loop: a statement that is planned as a short write refuses to change a long row. */
export function refuseLongRows(database: FunctionHost): void {
  database.function('gh_long_row', { ...OPTIONS, deterministic: false }, () => {
    throw new LongRow()
  })
}

const TRACKED = new WeakMap<FunctionHost, Set<unknown>>()

/**
 * Refuses an INSERT … ON CONFLICT DO UPDATE that would change a row that it has written itself, which SQLite allows: RETURNING
 * tracks each written row, and the WHERE of DO UPDATE checks it before its own condition.
 */
function registerRowTracking(database: FunctionHost): void {
  const tracked = new Set<unknown>()
  TRACKED.set(database, tracked)
  const options = { ...OPTIONS, deterministic: false }
  database.function('gh_track', options, (row: unknown) => {
    tracked.add(row)
    return null
  })
  database.function('gh_untracked', options, (row: unknown) => {
    if (tracked.has(row)) throw rowTwiceError()
    return 1n
  })
}

/** Call before each run of such a statement. */
export function resetTrackedRows(database: FunctionHost): void {
  TRACKED.get(database)?.clear()
}
