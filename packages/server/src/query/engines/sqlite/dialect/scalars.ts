/** IQL's scalar functions in SQLite. */
import type { BoundCall, IqlType } from 'gatehouse-iql'
import type { Dialect, ScalarSql, Sql } from '../../emit/dialect.ts'
import { FIRST_MONDAY } from '../functions/time.ts'
import { rescale } from './casts.ts'
import { checkedLikeSql } from './like.ts'
import { DAY } from './operators.ts'

const BLANK = "' '"

export const SQLITE_SCALARS: Dialect['scalars'] = {
  length: named('length'),
  upper: named('gh_upper'),
  lower: named('gh_lower'),
  trim: ([x, characters = BLANK]) => `gh_trim(${x}, ${characters})`,
  ltrim: ([x, characters = BLANK]) => `gh_ltrim(${x}, ${characters})`,
  rtrim: ([x, characters = BLANK]) => `gh_rtrim(${x}, ${characters})`,
  substr: (args) => `${args.length === 2 ? 'gh_substr_from' : 'gh_substr'}(${args.join(', ')})`,
  position: named('instr'),
  left: named('gh_left'),
  right: named('gh_right'),
  reverse: named('gh_reverse'),
  starts_with: named('gh_starts_with'),
  ends_with: named('gh_ends_with'),
  contains: ([x, part]) => `(instr(${x}, ${part}) > 0)`,
  split_part: named('gh_split_part'),
  abs: ([x], node) => byNumber(node, `gh_int(abs(${x}))`, `gh_dabs(${x}, ${countDigits(node.type)})`, `gh_fabs(${x})`),
  sign: ([x], node) => byNumber(node, `sign(${x})`, `gh_dsign(${x})`, `gh_fsign(${x})`),
  round: whole('round', 'gh_fround'),
  round_digits: ([x = ''], node) => rescale(x, argumentType(node, 0), node.type, 'round'),
  trunc: whole('trunc', 'gh_ftrunc'),
  trunc_digits: ([x = ''], node) => rescale(x, argumentType(node, 0), node.type, 'trunc'),
  floor: whole('floor', 'gh_ffloor'),
  ceil: whole('ceil', 'gh_fceil'),
  sqrt: named('gh_sqrt'),
  power: named('gh_power'),
  exp: named('gh_exp'),
  ln: named('gh_ln'),
  least: named('gh_least'),
  greatest: named('gh_greatest'),
  date_trunc: ([unit, x], node) => `gh_date_trunc(${unit}, ${asTimestamp(x, argumentType(node, 1))})`,
  date_part: ([part, x], node) => `gh_date_part(${part}, ${asTimestamp(x, argumentType(node, 1))})`,
  timezone: ([zone, x]) => `gh_zone_local(${x}, ${zone})`,
  timezone_local: ([zone, x]) => `gh_zone_instant(${x}, ${zone})`,
  date_trunc_zone: named('gh_zone_trunc'),
  date_part_zone: named('gh_zone_part'),
  time_bucket_zone: named('gh_zone_bucket'),
  time_bucket_months_zone: named('gh_zone_bucket'),
  date_part_time: named('gh_date_part'),
  extract: ([part, x], node) => `gh_extract(${part}, ${asTimestamp(x, argumentType(node, 1))})`,
  extract_time: named('gh_extract'),
  date_diff: ([span, from, to], node) =>
    `gh_date_diff(${span}, ${asTimestamp(from, argumentType(node, 1))}, ${asTimestamp(to, argumentType(node, 2))})`,
  time_bucket: ([width = '', x], node) => bucketSql(width, asTimestamp(x, argumentType(node, 1)), node),
  time_bucket_months: ([width, x], node) => `gh_bucket_months(${width}, ${asTimestamp(x, argumentType(node, 1))})`,
  json_get: named('gh_json_get'),
  json_item: named('gh_json_item'),
  json_text: named('gh_json_text'),
  json_item_text: named('gh_json_item_text'),
  gen_uuid: () => 'gh_uuid()',
}

/** Our functions check their steps; only position and contains have unchecked variants. */
export const SQLITE_SEARCHES: Dialect['searches'] = {
  position: named('gh_position'),
  contains: ([x, part]) => `(gh_position(${x}, ${part}) > 0)`,
  trim: SQLITE_SCALARS.trim,
  ltrim: SQLITE_SCALARS.ltrim,
  rtrim: SQLITE_SCALARS.rtrim,
  like: checkedLikeSql,
  fits: (text, maxBytes) => `iif(octet_length(${text}) > ${maxBytes}, gh_long_search(), 1)`,
}

/** SQLite computes most buckets by itself; our function is called for early times, a width that is refused, and NULL. */
function bucketSql(width: Sql, x: Sql, { arguments: args }: BoundCall): Sql {
  const exact = `gh_bucket(${width}, ${x})`
  if (!args.every(({ kind }) => kind === 'column' || kind === 'literal' || kind === 'parameter')) return exact
  return `iif(${width} > 0 AND ${x} >= ${FIRST_MONDAY}, ${x} - (${x} - ${FIRST_MONDAY}) % ${width}, ${exact})`
}

function named(name: string): ScalarSql {
  return (args) => `${name}(${args.join(', ')})`
}

/** round, trunc, floor and ceil without digits; an Integer is unchanged. */
function whole(mode: 'round' | 'trunc' | 'floor' | 'ceil', ofDouble: string): ScalarSql {
  return ([x = ''], node) => {
    const type = argumentType(node, 0)
    if (type.kind === 'Double') return `${ofDouble}(${x})`
    return type.kind === 'Decimal' ? rescale(x, type, node.type, mode) : x
  }
}

function byNumber(node: BoundCall, ofInteger: Sql, ofDecimal: Sql, ofDouble: Sql): Sql {
  const { kind } = argumentType(node, 0)
  if (kind === 'Double') return ofDouble
  return kind === 'Decimal' ? ofDecimal : ofInteger
}

function countDigits(type: IqlType): number {
  return type.kind === 'Decimal' ? type.precision : 19
}

function asTimestamp(x: Sql | undefined, type: IqlType): Sql {
  return type.kind === 'Date' ? `(${x} * ${DAY})` : String(x)
}

function argumentType(node: BoundCall, index: number): IqlType {
  const argument = node.arguments[index]
  if (argument === undefined) throw new TypeError(`${node.function} without argument ${index}`)
  return argument.type
}
