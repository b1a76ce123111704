/** The results recorded by the last complete run of the conformance tests. */
import { readFileSync } from 'node:fs'

export interface RowResult {
  readonly files: readonly string[]
  readonly passed: number
  readonly failed: number
}

/** By row id. */
export type Results = Readonly<Record<string, RowResult>>

export function readResults(): Results {
  const file = new URL('../../test/conformance/golden/results.json', import.meta.url)
  return JSON.parse(readFileSync(file, 'utf8'))
}
