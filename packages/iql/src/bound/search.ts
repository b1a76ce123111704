/** Searches of one text for another, which may take as many steps as the lengths of both multiplied, and which no database interrupts. */

import type { ScalarId } from '../functions/functions.ts'
import type { BoundCall, BoundExpression, Like } from './bound-query.ts'
import { isTextWithin } from './text-bound.ts'

/** A search for a text that is no longer is not checked: it is bounded by the length of the text that is searched. */
export const SHORT_PART_BYTES = 64
/** The most bytes of a text, multiplied by those of what is searched for. They take PostgreSQL about a second. */
export const MAX_SEARCH_STEPS = 2 ** 30

/** Searches whose second argument may be long. */
const SEARCHES: ReadonlySet<ScalarId> = new Set([
  'position',
  'contains',
  'replace',
  'split_part',
  'trim',
  'ltrim',
  'rtrim',
] as const)

/** What is searched for, unless it is known to be short. */
export function findLongPattern(node: BoundCall | Like): BoundExpression | undefined {
  const part = node.kind === 'like' ? node.pattern : SEARCHES.has(node.function) ? node.arguments[1] : undefined
  return part === undefined || isTextWithin(part, SHORT_PART_BYTES) ? undefined : part
}
