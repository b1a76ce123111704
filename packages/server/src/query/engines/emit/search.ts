/** Emits searches of one text for another: what is searched for is measured first, unless it is known to be short. */

import {
  type BoundCall,
  directOperands,
  findLongPattern,
  isPlain,
  type Like,
  MAX_SEARCH_STEPS,
  SHORT_PART_BYTES,
  type TextWeight,
} from 'gatehouse-iql'
import type { Dialect, SearchId, Sql } from './dialect.ts'

/** Searches for which the databases have built-in functions. */
export function isSearch(id: string): id is SearchId {
  return id === 'position' || id === 'contains' || id === 'trim' || id === 'ltrim' || id === 'rtrim'
}

interface Search {
  /** By the database's own function. */
  readonly native: () => Sql
  /** By a function that refuses a search of too many steps. */
  readonly checked: () => Sql
}

/**
 * Operands that are free to read again are written twice, so that only a long part calls the checking function. A literal
 * pattern stays a condition of its own, for which an index can be used, after one on the length of the text.
 */
export function emitSearch(
  node: BoundCall | Like,
  [text, part = '']: readonly [Sql, Sql | undefined],
  { weight, dialect }: { readonly weight: () => TextWeight | undefined; readonly dialect: Dialect },
  { native, checked }: Search,
): Sql {
  const long = findLongPattern(node)
  if (long === undefined) return native()
  if (!directOperands(node).every((operand) => isPlain(operand, weight()))) return checked()
  if (node.kind === 'like' && long.kind === 'literal' && typeof long.value === 'string') {
    const maxBytes = Math.floor(MAX_SEARCH_STEPS / Buffer.byteLength(long.value))
    return `(${dialect.searches.fits(text, maxBytes)} AND ${native()})`
  }
  return `(CASE WHEN octet_length(${part}) > ${SHORT_PART_BYTES} THEN ${checked()} ELSE ${native()} END)`
}
