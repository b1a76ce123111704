/** The signature of a function with names for its arguments, as completion shows it: `vwap(price, quantity)`. */
import { type ArgumentKind, FUNCTIONS, type FunctionEntry } from 'gatehouse-iql'

/** Where the kinds of the arguments say too little; those of the longest overload. */
const NAMES: ReadonlyMap<string, string> = new Map(
  Object.entries({
    trim: 'text, characters',
    ltrim: 'text, characters',
    rtrim: 'text, characters',
    substr: 'text, start, length',
    replace: 'text, old, new',
    position: 'text, part',
    left: 'text, count',
    right: 'text, count',
    lpad: 'text, length, fill',
    rpad: 'text, length, fill',
    repeat: 'text, times',
    starts_with: 'text, start',
    ends_with: 'text, end',
    contains: 'text, part',
    split_part: 'text, separator, n',
    power: 'base, exponent',
    timezone: 'zone, time',
    date_diff: 'unit, from, to',
    time_bucket: 'width, time, zone',
    json_get: 'json, key',
    json_text: 'json, key',
    corr: 'y, x',
    covar_pop: 'y, x',
    covar_samp: 'y, x',
    regr_slope: 'y, x',
    regr_intercept: 'y, x',
    regr_r2: 'y, x',
    string_agg: 'text, separator',
    first: 'value, order',
    last: 'value, order',
    vwap: 'price, quantity',
    ntile: 'buckets',
    lag: 'value, rows, default',
    lead: 'value, rows, default',
    nth_value: 'value, n',
    ema: 'value, rows',
    interpolate: 'value, position',
    generate_series: 'from, to, step, zone',
  }),
)

const BY_KIND: Readonly<Partial<Record<ArgumentKind, string>>> = {
  Text: 'text',
  Integer: 'n',
  Double: 'x',
  Json: 'json',
  Boolean: 'condition',
  Timestamp: 'time',
  LocalTimestamp: 'time',
  Time: 'time',
  Date: 'date',
  number: 'x',
  exact: 'x',
  moment: 'time',
  span: 'unit',
  fixed: 'width',
  months: 'width',
  zone: 'zone',
  part: 'part',
  unit: 'unit',
  digits: 'digits',
  fraction: 'fraction',
}

/** The longest overload of a function; what the shortest one lacks is optional. */
export function wholeEntry(name: string): FunctionEntry {
  const overloads = FUNCTIONS.filter((entry) => entry.name === name)
  const longest = overloads.reduce((most, entry) => (entry.arguments.length > most.arguments.length ? entry : most))
  const needed = Math.min(...overloads.map(({ arguments: kinds, optional = 0 }) => kinds.length - optional))
  return { ...longest, optional: longest.arguments.length - needed }
}

/** `substr(text, start[, length])` */
export function signature({ name, arguments: kinds, optional = 0, variadic }: FunctionEntry): string {
  const given = NAMES.get(name)?.split(', ') ?? []
  const names = kinds.map((kind, index) => given[index] ?? BY_KIND[kind] ?? 'value')
  const required = names.slice(0, names.length - optional).join(', ')
  const rest = names.slice(names.length - optional).join(', ')
  const tail = optional > 0 ? `[${required === '' ? '' : ', '}${rest}]` : variadic === true ? ', …' : ''
  return `${name}(${required}${tail})`
}
