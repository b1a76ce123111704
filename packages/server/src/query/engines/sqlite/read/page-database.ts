/**
 * A connection of Node's own SQLite for long reads. Its functions may run statements while a statement calls them, and it returns
 * pages; better-sqlite3 does neither (row-pages.ts). No process may have connections of both libraries open at a time: locks of a file
 * belong to the process, and either library would release those of the other.
 */
import type { DatabaseSync, SQLInputValue } from 'node:sqlite'
import { BUSY_MS, prepareLongReads } from '../connection.ts'
import type { AggregateOptions, FunctionHost, FunctionOptions } from '../functions/function-host.ts'
import { registerFunctions } from '../functions/functions.ts'

/** Undefined before Node.js 24.16. */
export function openForPages(path: string): DatabaseSync | undefined {
  const Connection = connectionWithPages()
  if (Connection === undefined) return undefined
  const database = new Connection(path, { readOnly: true, timeout: BUSY_MS })
  prepareLongReads({ pragma: (text) => database.exec(`PRAGMA ${text}`) })
  registerFunctions(hostOf(database))
  return database
}

export function hasPages(): boolean {
  return connectionWithPages() !== undefined
}

function connectionWithPages(): typeof DatabaseSync | undefined {
  // No import: earlier versions have no such module.
  const sqlite = process.getBuiltinModule?.('node:sqlite')
  return sqlite !== undefined && 'serialize' in sqlite.DatabaseSync.prototype ? sqlite.DatabaseSync : undefined
}

function hostOf(database: DatabaseSync): FunctionHost {
  return {
    function: (name: string, options: FunctionOptions, run: (...values: never[]) => SQLInputValue) =>
      database.function(name, optionsOf(options), run as (...values: SQLInputValue[]) => SQLInputValue),
    aggregate: (name: string, options: AggregateOptions) => {
      const { start, step, inverse, result } = options as AggregateParts
      const returning =
        (change: typeof step) =>
        (state: unknown, ...values: unknown[]) => {
          change(state, ...values)
          return state
        }
      const parts = { start, step: returning(step), result, ...(inverse && { inverse: returning(inverse) }) }
      database.aggregate(name, { ...optionsOf(options), ...parts } as never)
    },
  }
}

/** States can be of any type. */
interface AggregateParts {
  readonly start: () => unknown
  readonly step: (state: unknown, ...values: unknown[]) => void
  readonly inverse?: (state: unknown, ...values: unknown[]) => void
  readonly result: (state: unknown) => unknown
}

function optionsOf({
  safeIntegers = false,
  directOnly = false,
  deterministic = false,
  varargs = false,
}: FunctionOptions) {
  return { useBigIntArguments: safeIntegers, directOnly, deterministic, varargs }
}
