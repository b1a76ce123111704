/** Registers one aggregate in SQLite. */
import type { Database } from 'better-sqlite3'
import { exact } from './number.ts'

/** A value as SQLite passes it to a function. */
export type Raw = null | bigint | number | string | Uint8Array

export interface AggregateParts<State> {
  readonly start: () => State
  readonly step: (state: State, ...values: Raw[]) => void
  /** Removes a row; an aggregate without it cannot be used over a window. */
  readonly inverse?: (state: State, ...values: Raw[]) => void
  readonly result: (state: State) => Raw
}

/** States are changed in place, although the library's types expect a step to return a new one. */
export function aggregate<State>(database: Database, name: string, parts: AggregateParts<State>): void {
  database.aggregate(name, { ...parts, safeIntegers: true, directOnly: true } as unknown as Parameters<
    Database['aggregate']
  >[1])
}

export function exactOf(value: Raw): bigint {
  if (typeof value === 'bigint' || value instanceof Uint8Array) return exact(value)
  throw new TypeError('Not an exact number')
}
