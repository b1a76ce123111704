/** The operations that create long texts in SQLite, with the check of their length. */

import { findLongPattern, SMALL_TEXT_BYTES } from 'gatehouse-iql'
import type { AggregateShape, ConcatCheck, Dialect, Sql } from '../../emit/dialect.ts'
import { joinOrder, joinPairs } from '../../emit/dialect.ts'

const BLANK = "' '"
const SMALL: Sql = String(SMALL_TEXT_BYTES)
/** SQLite's functions take at most 127 arguments. */
const MAX_PARTS = 100

export function concatSql(parts: readonly Sql[], check?: ConcatCheck): Sql {
  if (check === undefined) return joinPairs(parts)
  const { limit, isMeasured, constants } = check
  if (!isMeasured || constants === parts.length) return checkedConcat(parts, limit)
  // SQLite evaluates constants before the first row, even those of a branch that is not taken, but not the calls of functions.
  const start = constants > 1 ? [checkedConcat(parts.slice(0, constants), limit)] : parts.slice(0, constants)
  const joined = joinPairs([...start, ...parts.slice(constants)])
  return `(CASE WHEN ${lengthSql(parts)} > ${limit} THEN gh_too_long(${limit}) ELSE ${joined} END)`
}

function checkedConcat(parts: readonly Sql[], limit: Sql): Sql {
  let sql = parts[0] ?? BLANK
  for (let from = 1; from < parts.length; from += MAX_PARTS)
    sql = `gh_concat(${[limit, sql, ...parts.slice(from, from + MAX_PARTS)].join(', ')})`
  return sql
}

export const SQLITE_GROWING: Dialect['growing'] = {
  repeat: ([x, count], _node, limit = SMALL) => `gh_repeat(${x}, ${count}, ${limit})`,
  replace: (args, node, limit) => {
    // SQLite's replace returns the text when nothing is replaced, even if the replacement is NULL.
    const isNative = limit === undefined && node.arguments[2]?.nullable === false && findLongPattern(node) === undefined
    return isNative ? `replace(${args.join(', ')})` : `gh_replace(${[...args, limit ?? UNLIMITED].join(', ')})`
  },
  lpad: ([x, length, fill = BLANK], _node, limit = SMALL) => `gh_lpad(${x}, ${length}, ${fill}, ${limit})`,
  rpad: ([x, length, fill = BLANK], _node, limit = SMALL) => `gh_rpad(${x}, ${length}, ${fill}, ${limit})`,
}

/** For a replacement that cannot make its text longer. */
const UNLIMITED: Sql = '9007199254740991'

export const stringAggSql: Dialect['stringAgg'] = ([x = '', separator], node, shape, limit) => {
  const between = `coalesce(${separator}, '')`
  if (shape.distinct) {
    const isFalling = node.kind === 'aggregate' && node.orderBy[0]?.descending === true
    return `${isFalling ? 'gh_join_falling' : 'gh_join_rising'}(${x}, ${between}, ${limit})${shape.tail}`
  }
  const joined = `group_concat(${x}, ${between} ORDER BY ${joinOrder(shape.orderBy, x, between, node)})${shape.tail}`
  return `(CASE WHEN ${totalSql([x, between], shape)} > ${limit} THEN gh_too_long(${limit}) ELSE ${joined} END)`
}

function totalSql(parts: readonly Sql[], { tail }: AggregateShape): Sql {
  return `sum(${lengthSql(parts)})${tail}`
}

function lengthSql(parts: readonly Sql[]): Sql {
  return parts.map((part) => `octet_length(${part})`).join(' + ')
}
