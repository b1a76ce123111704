/** The details of a refusal of IQL, for tables of expected errors. */
import assert from 'node:assert/strict'
import { Refusal } from 'gatehouse-protocol'

export interface Told {
  readonly code: string
  readonly message: string
  readonly line: number
  readonly column: number
  readonly offset: number
  readonly expected: readonly string[]
  readonly hint: string | undefined
}

/** Runs a function that must be refused, and returns the details of the refusal. */
export function catchRefusal(run: () => unknown): Told {
  try {
    run()
  } catch (error) {
    assert.ok(error instanceof Refusal, `expected a Refusal, got ${String(error)}`)
    return told(error)
  }
  throw new assert.AssertionError({ message: 'nothing was refused' })
}

function told(refusal: Refusal): Told {
  const members = refusal.details.members ?? {}
  const position = members.Position
  assert.ok(isPosition(position), 'a Refusal of IQL has a Position')
  const expected = Array.isArray(members.Expected) ? members.Expected.map(String) : []
  const hint = typeof members.Hint === 'string' ? members.Hint : undefined
  const { Line: line, Column: column, Offset: offset } = position
  return { code: refusal.code, message: refusal.message, line, column, offset, expected, hint }
}

function isPosition(value: unknown): value is { Offset: number; Line: number; Column: number } {
  return typeof value === 'object' && value !== null && 'Offset' in value && 'Line' in value && 'Column' in value
}

/** A tree without positions, to compare two texts by meaning. */
export function withoutPositions(tree: unknown): unknown {
  if (Array.isArray(tree)) return tree.map(withoutPositions)
  if (typeof tree !== 'object' || tree === null) return tree
  const entries = Object.entries(tree).filter(([key]) => key !== 'at')
  return Object.fromEntries(entries.map(([key, value]) => [key, withoutPositions(value)]))
}
