/** Gives a SQLite connection the functions that the emitter of this folder calls. */
import type { Database } from 'better-sqlite3'
import { extremeOf, type Raw, registerAggregates } from './aggregates.ts'
import { CAST_FUNCTIONS } from './functions-cast.ts'
import { NUMBER_FUNCTIONS, type SqliteFunction } from './functions-number.ts'
import { TEXT_FUNCTIONS } from './functions-text.ts'
import { TIME_FUNCTIONS } from './functions-time.ts'
import { registerTouchedRows } from './touched-rows.ts'

const FUNCTIONS = { ...NUMBER_FUNCTIONS, ...TEXT_FUNCTIONS, ...TIME_FUNCTIONS, ...CAST_FUNCTIONS }

export function registerFunctions(database: Database): void {
  const all: Record<string, SqliteFunction> = FUNCTIONS
  for (const [name, run] of Object.entries(all)) {
    // directOnly: no trigger or view that somebody put in the file may call them.
    database.function(
      name,
      { deterministic: name !== 'gh_uuid', safeIntegers: true, directOnly: true },
      run as (...args: unknown[]) => unknown,
    )
  }
  const extremes = { deterministic: true, safeIntegers: true, directOnly: true, varargs: true }
  database.function('gh_least', extremes, (...values: Raw[]) => extremeOf(values, -1))
  database.function('gh_greatest', extremes, (...values: Raw[]) => extremeOf(values, 1))
  registerAggregates(database)
  registerTouchedRows(database)
}
