/** The length of values in bytes, and bounds of the texts of parameters by how often a statement holds them at once. */

import { type IqlValue, MAX_HELD_BYTES, MAX_HELD_TEXTS, type TextWeight } from 'gatehouse-iql'
import { heldTextsError } from '../runtime-error.ts'

/** How the parameters of a statement are used, if they can be too long for it. */
export interface HeldParameters {
  readonly times: ReadonlyMap<number, number>
  readonly literalBytes: number
}

export function heldParameters({ parameters, literalBytes }: TextWeight): HeldParameters | undefined {
  const isHarmless = total([...parameters.values()]) <= MAX_HELD_TEXTS && literalBytes <= MAX_HELD_BYTES
  return isHarmless ? undefined : { times: parameters, literalBytes }
}

export function refuseHeld({ times, literalBytes }: HeldParameters, values: readonly IqlValue[]): void {
  let bytes = literalBytes
  for (const [index, count] of times) bytes += count * lengthOf(values[index])
  if (bytes > MAX_HELD_BYTES) throw heldTextsError(Math.floor(MAX_HELD_BYTES / Math.max(1, total([...times.values()]))))
}

function lengthOf(value: IqlValue | undefined): number {
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
