/** IQL's scalar functions in PostgreSQL. */
import type { BoundCall, IqlType } from 'gatehouse-iql'
import type { Dialect, ScalarSql, Sql } from '../../emit/dialect.ts'
import { SCHEMA, sqlType, unicode } from '../representation.ts'

const BLANK = "' '"

export const POSTGRES_SCALARS: Dialect['scalars'] = {
  length: ([x]) => `char_length(${x})::bigint`,
  upper: ([x = '']) => text(`upper(${unicode(x)})`),
  lower: ([x = '']) => text(`lower(${unicode(x)})`),
  trim: ([x, characters = BLANK]) => text(`btrim(${x}, ${characters})`),
  ltrim: ([x, characters = BLANK]) => text(`ltrim(${x}, ${characters})`),
  rtrim: ([x, characters = BLANK]) => text(`rtrim(${x}, ${characters})`),
  substr: (args) => text(`${SCHEMA}.gh_substr(${args.join(', ')})`),
  position: ([x, part]) => `strpos(${x}, ${part})::bigint`,
  left: ([x, count]) => text(`left(${x}, ${asInt(count)})`),
  right: ([x, count]) => text(`right(${x}, ${asInt(count)})`),
  reverse: ([x]) => text(`reverse(${x})`),
  starts_with: ([x, start]) => `starts_with(${x}, ${start})`,
  ends_with: ([x, end]) => `(right(${x}, char_length(${end})) = ${end})`,
  contains: ([x, part]) => `(strpos(${x}, ${part}) > 0)`,
  split_part: (args) => text(`${SCHEMA}.gh_split_part(${args.join(', ')})`),
  abs: ([x]) => `abs(${x})`,
  sign: ([x]) => `sign(${x})::bigint`,
  round: whole(
    (x) => `round(${x})`,
    (x) => `${SCHEMA}.gh_round(${x})`,
  ),
  round_digits: ([x], node) => `(round(${x}::numeric, ${callScale(node)})::${sqlType(node.type)})`,
  trunc: whole((x) => `trunc(${x})`),
  trunc_digits: ([x], node) => `(trunc(${x}::numeric, ${callScale(node)})::${sqlType(node.type)})`,
  floor: whole((x) => `floor(${x})`),
  ceil: whole((x) => `ceil(${x})`),
  sqrt: ([x]) => `sqrt(${x})`,
  power: ([x, y]) => `${SCHEMA}.gh_twelve_digits(power(${x}, ${y}))`,
  exp: ([x]) => `${SCHEMA}.gh_twelve_digits(exp(${x}))`,
  ln: ([x]) => `${SCHEMA}.gh_twelve_digits(ln(${x}))`,
  least: (args) => `least(${args.join(', ')})`,
  greatest: (args) => `greatest(${args.join(', ')})`,
  date_trunc: ([unit, x]) => `${SCHEMA}.gh_date_trunc(${unit}, ${x}::timestamp)`,
  date_part: ([part, x], node) => partSql(`${x}::timestamp`, node, `${SCHEMA}.gh_date_part(${part}, ${x}::timestamp)`),
  timezone: ([zone, x]) => `${SCHEMA}.gh_zone_local(${x}, ${zone})`,
  timezone_local: ([zone, x]) => `${SCHEMA}.gh_zone_instant(${x}, ${zone})`,
  date_trunc_zone: ([, x, zone], node) => `${SCHEMA}.gh_zone_bucket(${unitWidth(node)}, ${x}, ${zone})`,
  date_part_zone: ([part, x, zone], node) =>
    partSql(`${SCHEMA}.gh_zone_local(${x}, ${zone})`, node, `${SCHEMA}.gh_zone_part(${part}, ${x}, ${zone})`),
  time_bucket_zone: ([width, x, zone]) => `${SCHEMA}.gh_zone_bucket(${width}, ${x}, ${zone})`,
  time_bucket_months_zone: ([width, x, zone]) => `${SCHEMA}.gh_zone_bucket(${width}, ${x}, ${zone})`,
  date_part_time: ([part, x]) => `${SCHEMA}.gh_date_part(${part}, timestamp '2000-01-01' + ${x})`,
  extract: ([, x], node) => fineSql(`${x}::timestamp`, node),
  extract_time: ([, x], node) => fineSql(String(x), node),
  date_diff: ([span, from, to]) => `${SCHEMA}.gh_date_diff(${span}, ${from}::timestamp, ${to}::timestamp)`,
  time_bucket: ([width, x]) => `${SCHEMA}.gh_bucket(${width}, ${x}::timestamp)`,
  time_bucket_months: ([width, x]) => `${SCHEMA}.gh_bucket_months(${width}, ${x}::timestamp)`,
  json_get: ([json, key], node) => text(`((${parsed(json, node)} -> ${key})::text)`),
  json_item: ([json, index]) => text(`${SCHEMA}.gh_json_item(${json}, ${index})`),
  json_text: ([json, key], node) => text(`(${parsed(json, node)} ->> ${key})`),
  json_item_text: ([json, index]) => text(`${SCHEMA}.gh_json_item_text(${json}, ${index})`),
  gen_uuid: () => 'gen_random_uuid()',
}

/** A unit is a bucket: weeks begin on Mondays, and months are counted from January 2000. */
function unitWidth(node: BoundCall): Sql {
  const width = UNIT_WIDTHS.get(literalWord(node))
  if (width === undefined) throw new TypeError('A unit without a width')
  return width
}

const UNIT_WIDTHS: ReadonlyMap<string, Sql> = new Map([
  ['year', "interval '12 months'"],
  ['quarter', "interval '3 months'"],
  ['month', "interval '1 month'"],
  ['week', '604800000000::bigint'],
  ['day', '86400000000::bigint'],
  ['hour', '3600000000::bigint'],
  ['minute', '60000000::bigint'],
  ['second', '1000000::bigint'],
  ['millisecond', '1000::bigint'],
])

function text(sql: Sql): Sql {
  return `(${sql} COLLATE "C")`
}

/** A part of a Json value can be parsed, because the value was. */
function parsed(json: Sql | undefined, { arguments: [value] }: BoundCall): Sql {
  return value?.kind === 'call' ? `${json}::json` : `${SCHEMA}.gh_json(${json})`
}

/** greatest and least alone would ignore a NULL. */
function asInt(count: Sql | undefined): Sql {
  return `(CASE WHEN ${count} IS NOT NULL THEN least(greatest(${count}, -2147483647), 2147483647) END)::int`
}

/** dow and isoyear are not in the helper function of the first release, which another node may have restored. */
function partSql(x: Sql, node: BoundCall, otherwise: Sql): Sql {
  const part = literalWord(node)
  return part === 'dow' || part === 'isoyear' ? `(extract(${part} FROM ${x})::bigint)` : otherwise
}

/** The words of PostgreSQL for the parts with a fraction are those of IQL. */
function fineSql(x: Sql, node: BoundCall): Sql {
  return `(extract(${literalWord(node)} FROM ${x})::${sqlType(node.type)})`
}

/** The word that chooses what a function does. */
function literalWord({ arguments: [word] }: BoundCall): string {
  if (word?.kind === 'literal' && typeof word.value === 'string') return word.value
  throw new TypeError('A word that is not a literal')
}

function whole(of: (x: Sql) => Sql, ofDouble = of): ScalarSql {
  return ([x = ''], node) => {
    const type: IqlType | undefined = node.arguments[0]?.type
    if (type?.kind === 'Double') return ofDouble(x)
    return type?.kind === 'Decimal' ? `(${of(x)}::${sqlType(node.type)})` : x
  }
}

function callScale(node: BoundCall): number {
  return node.type.kind === 'Decimal' ? node.type.scale : 0
}
