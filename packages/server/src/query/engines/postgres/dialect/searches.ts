/** Searches of one text for another in PostgreSQL, with a check of their steps, because PostgreSQL cannot interrupt them. */
import type { Like } from 'gatehouse-iql'
import type { Dialect, Sql } from '../../emit/dialect.ts'
import { SCHEMA, unicode } from '../representation.ts'

const BLANK = "' '"

export const POSTGRES_SEARCHES: Dialect['searches'] = {
  position: ([x, part]) => `${SCHEMA}.gh_strpos(${x}, ${part})::bigint`,
  contains: ([x, part]) => `(${SCHEMA}.gh_strpos(${x}, ${part}) > 0)`,
  fits: (text, maxBytes) => `${SCHEMA}.gh_search_fits(${text}, ${maxBytes})`,
  trim: trimmed('btrim'),
  ltrim: trimmed('ltrim'),
  rtrim: trimmed('rtrim'),
  like(operand, pattern, escapeSql, node) {
    const [checked, by] = checkedPattern(pattern, escapeSql, node)
    return `${SCHEMA}.gh_like(${foldedFor(node, operand)}, ${checked}, ${by})`
  },
}

function trimmed(name: 'btrim' | 'ltrim' | 'rtrim'): Dialect['searches']['trim'] {
  return ([x, characters = BLANK]) => `(${SCHEMA}.gh_${name}(${x}, ${characters}) COLLATE "C")`
}

export function foldedFor({ ignoreCase }: Like, text: Sql): Sql {
  return ignoreCase ? `lower(${unicode(text)}) COLLATE "C"` : text
}

/** The pattern and its escape. An empty ESCAPE, for a pattern without one, disables PostgreSQL's default. */
export function checkedPattern(pattern: Sql, escapeSql: Sql | undefined, node: Like): readonly [Sql, Sql] {
  const folded = foldedFor(node, pattern)
  if (escapeSql === undefined) return [folded, "''"]
  const by = foldedFor(node, escapeSql)
  // PostgreSQL rejects a pattern that ends with its escape only if matching gets that far.
  return [`(${SCHEMA}.gh_pattern(${folded}, ${by}) COLLATE "C")`, by]
}
