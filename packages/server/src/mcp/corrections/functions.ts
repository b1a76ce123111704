/** Calls of other dialects, as IQL writes them. */

const PARTS = ['year', 'quarter', 'month', 'week', 'day', 'hour', 'minute', 'second']
const BUCKETS = ['minute', 'hour', 'day', 'week', 'month']

type Write = (...args: readonly string[]) => string | undefined

const percentile: Write = (x, q) => {
  if (x === undefined || q === undefined) return undefined
  return /^[\d.]+$/.test(x) ? `percentile_cont(${x}, ${q})` : `percentile_cont(${q}, ${x})`
}
const cast =
  (type: string): Write =>
  (x) =>
    x && `CAST(${x} AS ${type})`
const condition: Write = (test, yes, no = 'NULL') => yes && `CASE WHEN ${test} THEN ${yes} ELSE ${no} END`
const filtered =
  (name: string): Write =>
  (x, test) =>
    test && `${name}(${x}) FILTER (WHERE ${test})`
const unit = (text = '') => text.replaceAll(/['"]/g, '').toLowerCase()
const difference: Write = (a, b, c) =>
  c === undefined ? b && `date_diff('day', ${b}, ${a})` : `date_diff('${unit(a)}', ${b}, ${c})`
const distinct: Write = (x) => x && `count(DISTINCT ${x})`
const joined: Write = (x, separator = "', '") => x && `string_agg(CAST(${x} AS Text), ${separator})`

export const FOREIGN_CALLS: ReadonlyMap<string, Write> = new Map<string, Write>([
  ...PARTS.map((part): [string, Write] => [part, (x) => x && `EXTRACT(${part} FROM ${x})`]),
  ...BUCKETS.map((part): [string, Write] => [`tostartof${part}`, (x) => x && `time_bucket('1 ${part}', ${x})`]),
  ['date', cast('Date')],
  ['to_date', cast('Date')],
  ['todate', cast('Date')],
  ['timestamp', cast('Timestamp')],
  ['datetime', cast('Timestamp')],
  ['to_timestamp', cast('Timestamp')],
  ['str', cast('Text')],
  ['tostring', cast('Text')],
  ['to_char', cast('Text')],
  ['date_format', cast('Text')],
  ['strftime', (x, y) => cast('Text')(y ?? x ?? '')],
  ['tofloat64', cast('Double')],
  ['toint64', cast('Integer')],
  ['if', condition],
  ['iif', condition],
  ['isnull', (x, y) => (y === undefined ? x && `(${x} IS NULL)` : `coalesce(${x}, ${y})`)],
  ['array_agg', joined],
  ['grouparray', joined],
  ['group_concat', joined],
  ['log', (x) => x && `(ln(${x}) / ln(10))`],
  ['log10', (x) => x && `(ln(${x}) / ln(10))`],
  ['log2', (x) => x && `(ln(${x}) / ln(2))`],
  ['today', () => 'current_date'],
  ['curdate', () => 'current_date'],
  ['sysdate', () => 'now()'],
  ['getdate', () => 'now()'],
  ['percentile', percentile],
  ['quantile', percentile],
  ['approx_percentile', percentile],
  ['approx_quantile', percentile],
  ['quantile_cont', percentile],
  ['any_value', (x) => x && `min(${x})`],
  ['arg_max', (x, y) => y && `last(${x}, ${y})`],
  ['argmax', (x, y) => y && `last(${x}, ${y})`],
  ['arg_min', (x, y) => y && `first(${x}, ${y})`],
  ['argmin', (x, y) => y && `first(${x}, ${y})`],
  ['countif', (test) => test && `count(*) FILTER (WHERE ${test})`],
  ['sumif', filtered('sum')],
  ['avgif', filtered('avg')],
  ['uniq', distinct],
  ['uniqexact', distinct],
  ['approx_count_distinct', distinct],
  ['datediff', difference],
  ['date_diff', difference],
  ['timestampdiff', difference],
  ['dateadd', (part, count, x) => x && `(${x} + INTERVAL '${unit(count)} ${unit(part)}')`],
  ['date_add', (x, interval) => interval && `(${x} + ${interval})`],
  ['date_sub', (x, interval) => interval && `(${x} - ${interval})`],
  ['unix_timestamp', (x) => x && `EXTRACT(epoch FROM ${x})`],
  ['regexp_like', (x, pattern) => pattern && `${x} LIKE ${likePattern(pattern)}`],
  ['regexp_matches', (x, pattern) => pattern && `${x} LIKE ${likePattern(pattern)}`],
])

/** The LIKE of a simple regular expression. Others become something that a person would have to look at anyway. */
export function likePattern(literal: string): string {
  const text = literal.slice(1, -1)
  const [start, end] = [text.startsWith('^') ? '' : '%', text.endsWith('$') ? '' : '%']
  const middle = text.replace(/^\^/, '').replace(/\$$/, '').replaceAll('.*', '%').replaceAll('.', '_')
  return `'${start}${middle}${end}'`.replaceAll('%%', '%')
}
