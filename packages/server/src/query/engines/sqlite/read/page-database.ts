/**
 * A connection of Node's own SQLite for long reads. Its functions may run statements while a statement calls them, and it returns
 * pages; better-sqlite3 does neither (row-pages.ts). No process may have connections of both libraries open at a time: locks of a file
 * belong to the process, and either library would release those of the other.
 */
import type { DatabaseSync, SQLInputValue } from 'node:sqlite'
import { BUSY_MS, prepareLongReads } from '../connection.ts'
import type { AggregateOptions, FunctionHost, FunctionOptions } from '../functions/function-host.ts'
import { registerFunctions } from '../functions/functions.ts'

export interface PageDatabase {
  readonly database: DatabaseSync
  /** The first error that an aggregate threw since the last call. */
  takeFailure(): { readonly error: unknown } | undefined
}

/** Undefined before Node.js 24.16. */
export function openForPages(path: string): PageDatabase | undefined {
  const Connection = connectionWithPages()
  if (Connection === undefined) return undefined
  const database = new Connection(path, { readOnly: true, timeout: BUSY_MS })
  prepareLongReads({ pragma: (text) => database.exec(`PRAGMA ${text}`) })
  let failure: { readonly error: unknown } | undefined
  registerFunctions(createHost(database, (error) => (failure ??= { error })))
  return {
    database,
    takeFailure() {
      const taken = failure
      failure = undefined
      return taken
    },
  }
}

export function hasPages(): boolean {
  return connectionWithPages() !== undefined
}

function connectionWithPages(): typeof DatabaseSync | undefined {
  // No import: earlier versions have no such module.
  const sqlite = process.getBuiltinModule?.('node:sqlite')
  return sqlite !== undefined && 'serialize' in sqlite.DatabaseSync.prototype ? sqlite.DatabaseSync : undefined
}

/** `onFailure` is called with what an aggregate throws: Node.js ends the statement then, and reports no error. */
function createHost(database: DatabaseSync, onFailure: (error: unknown) => void): FunctionHost {
  const watched =
    <Values extends unknown[], Result>(part: (...values: Values) => Result) =>
    (...values: Values): Result => {
      try {
        return part(...values)
      } catch (error) {
        onFailure(error)
        throw error
      }
    }
  return {
    function: (name: string, options: FunctionOptions, run: (...values: never[]) => SQLInputValue) =>
      database.function(name, toOptions(options), run as (...values: SQLInputValue[]) => SQLInputValue),
    aggregate: (name: string, options: AggregateOptions) => {
      const { start, step, inverse, result } = options as AggregateParts
      const returning = (change: typeof step) =>
        watched((state: unknown, ...values: unknown[]) => {
          change(state, ...values)
          return state
        })
      const parts = {
        start,
        step: returning(step),
        result: watched(result),
        ...(inverse && { inverse: returning(inverse) }),
      }
      database.aggregate(name, { ...toOptions(options), ...parts } as never)
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

function toOptions({
  safeIntegers = false,
  directOnly = false,
  deterministic = false,
  varargs = false,
}: FunctionOptions) {
  return { useBigIntArguments: safeIntegers, directOnly, deterministic, varargs }
}
