/** Registers one aggregate in SQLite. */

import type { AggregateOptions, FunctionHost } from './function-host.ts'
import { exact, real } from './number.ts'

/** A value as SQLite passes it to a function. */
export type Raw = null | Value
export type Value = bigint | number | string | Uint8Array

export interface AggregateParts<State> {
  readonly start: () => State
  readonly step: (state: State, ...values: Raw[]) => void
  /** Removes a row; an aggregate without it cannot be used over a window. */
  readonly inverse?: (state: State, ...values: Raw[]) => void
  readonly result: (state: State) => Raw
}

/** States are changed in place. */
export function aggregate<State>(database: FunctionHost, name: string, parts: AggregateParts<State>): void {
  const options: AggregateOptions = { ...parts, safeIntegers: true, directOnly: true, varargs: true }
  database.aggregate(name, options as never)
}

export interface MovingParts<State> extends Omit<AggregateParts<State>, 'step' | 'inverse'> {
  /** Adds a row whose values are known, or removes it if the sign is negative. */
  readonly add: (state: State, sign: 1n | -1n, ...values: Value[]) => void
}

/** An aggregate that leaves out rows with a NULL, and can be used over a window. */
export function movingAggregate<State>(database: FunctionHost, name: string, parts: MovingParts<State>): void {
  const { start, add, result } = parts
  const withSign =
    (sign: 1n | -1n) =>
    (state: State, ...values: Raw[]): void => {
      if (areKnown(values)) add(state, sign, ...values)
    }
  aggregate(database, name, { start, step: withSign(1n), inverse: withSign(-1n), result })
}

function areKnown(values: readonly Raw[]): values is readonly Value[] {
  return !values.includes(null)
}

export function toExact(value: Raw | undefined): bigint {
  if (typeof value === 'bigint' || value instanceof Uint8Array) return exact(value)
  throw new TypeError('Not an exact number')
}

/** The value of a Double. */
export function toReal(value: Raw | undefined): number {
  if (value === undefined || value === null || value instanceof Uint8Array) throw new TypeError('Not a Double')
  return real(value)
}
