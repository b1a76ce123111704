/** The operations that create long texts in PostgreSQL, with the check of their length. */
import { findLongPattern, SMALL_TEXT_BYTES } from 'gatehouse-iql'
import { type ConcatCheck, type Dialect, joinOrder, joinPairs, type Sql } from '../../emit/dialect.ts'
import { SCHEMA } from '../representation.ts'

const BLANK = "' '"
const SMALL: Sql = String(SMALL_TEXT_BYTES)

export function concatSql(parts: readonly Sql[], check?: ConcatCheck): Sql {
  const joined = joinPairs(parts)
  if (check === undefined) return joined
  const { limit, isMeasured } = check
  if (!isMeasured) return text(parts.reduce((left, right) => `${SCHEMA}.gh_concat(${left}, ${right}, ${limit})`))
  const length = parts.map((part) => `octet_length(${part})::bigint`).join(' + ')
  // The planner evaluates a call whose arguments are constants even in a branch that is not taken. The length is not constant.
  return text(`(CASE WHEN ${length} > ${limit} THEN ${SCHEMA}.gh_too_long(${length}, ${limit}) ELSE ${joined} END)`)
}

export const POSTGRES_GROWING: Dialect['growing'] = {
  repeat: ([x, count], _node, limit = SMALL) => text(`${SCHEMA}.gh_repeat(${x}, ${count}, ${limit})`),
  replace: (args, node, limit) => {
    const isNative = limit === undefined && findLongPattern(node) === undefined
    const checked = `${SCHEMA}.gh_replace(${[...args, limit ?? UNLIMITED].join(', ')})`
    return text(isNative ? `replace(${args.join(', ')})` : checked)
  },
  lpad: padded('lpad'),
  rpad: padded('rpad'),
}

/** For a replacement that cannot make its text longer. */
const UNLIMITED: Sql = '2147483647'

function padded(name: 'lpad' | 'rpad'): Dialect['growing']['lpad'] {
  return ([x, length, fill = BLANK], _node, limit = SMALL) => {
    const result = `${name}(${x}, ${SCHEMA}.gh_length_of(${length}, ${limit}), ${fill})`
    return text(`${SCHEMA}.gh_fitting(${result}, ${limit})`)
  }
}

/** gh_total fails while the rows are read; the texts are joined after that, because they are sorted first. */
export const stringAggSql: Dialect['stringAgg'] = ([x = '', separator], node, { distinct, orderBy, tail }, limit) => {
  const between = `coalesce(${separator}, '')`
  const each = `${distinct ? 'DISTINCT ' : ''}${x}, ${between}`
  const total = `${SCHEMA}.gh_total(${each}, ${limit})${tail}`
  const joined = `string_agg(${each} ORDER BY ${joinOrder(orderBy, x, between, node)})${tail}`
  return text(`(CASE WHEN ${total} >= 0 THEN ${joined} END)`)
}

function text(sql: Sql): Sql {
  return `(${sql} COLLATE "C")`
}
