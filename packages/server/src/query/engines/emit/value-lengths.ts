/** The length of values in bytes, and bounds of the texts of parameters by how often a statement holds them at once. */

import { type IqlValue, MAX_HELD_BYTES, MAX_HELD_TEXTS, MAX_RESULT_ROW_BYTES, type TextWeight } from 'gatehouse-iql'
import { heldTextsError, rowTooLongError } from '../runtime-error.ts'

/** How the parameters of a statement are used, if they can be too long for it. */
export interface HeldParameters {
  readonly times: ReadonlyMap<number, number>
  readonly literalBytes: number
  /** Those of each row that has one several times. */
  readonly rows: TextWeight['rows']
}

export function heldParameters({ parameters, literalBytes, rows }: TextWeight): HeldParameters | undefined {
  const isHarmless = total([...parameters.values()]) <= MAX_HELD_TEXTS && literalBytes <= MAX_HELD_BYTES
  return isHarmless && rows.length === 0 ? undefined : { times: parameters, literalBytes, rows }
}

/** Before the database makes a row of them. */
export function refuseHeld({ times, literalBytes, rows }: HeldParameters, values: readonly IqlValue[]): void {
  for (const row of rows) if (sumBytes(row, values) > MAX_RESULT_ROW_BYTES) throw rowTooLongError(MAX_RESULT_ROW_BYTES)
  const bytes = literalBytes + sumBytes(times, values)
  if (bytes > MAX_HELD_BYTES) throw heldTextsError(Math.floor(MAX_HELD_BYTES / Math.max(1, total([...times.values()]))))
}

function sumBytes(times: ReadonlyMap<number, number>, values: readonly IqlValue[]): number {
  let bytes = 0
  for (const [index, count] of times) bytes += count * valueLength(values[index])
  return bytes
}

function valueLength(value: IqlValue | undefined): number {
  if (value instanceof Uint8Array) return value.length
  return typeof value === 'string' ? Buffer.byteLength(value) : 0
}

export function total(numbers: readonly number[]): number {
  return numbers.reduce((sum, number) => sum + number, 0)
}

export function isLonger(value: unknown, bytes: number): boolean {
  if (value instanceof Uint8Array) return value.length > bytes
  // A character of JavaScript has one to three bytes.
  if (typeof value !== 'string' || 3 * value.length <= bytes) return false
  return value.length > bytes || Buffer.byteLength(value) > bytes
}
