/** The scalar functions of IQL: one value from the values of one row. */

import {
  BOOLEAN,
  DATE,
  type DecimalType,
  DOUBLE,
  decimal,
  INTEGER,
  type IqlType,
  JSON_TYPE,
  LOCAL_TIMESTAMP,
  TEXT,
  TIMESTAMP,
  UUID,
} from '../types/types.ts'
import type { FunctionEntry, Literals } from './entry.ts'

export const SCALAR_FUNCTIONS = {
  length: text(['Text'], INTEGER, 'The number of characters (code points).', "length('ACME')"),
  upper: text(['Text'], TEXT, 'In upper case, according to Unicode.', "upper('straße')"),
  lower: text(['Text'], TEXT, 'In lower case, according to Unicode.', "lower('ÅSE')"),
  trim: text(['Text', 'Text'], TEXT, 'Without blanks, or the given characters, at both ends.', "trim('  x ')", 1),
  ltrim: text(
    ['Text', 'Text'],
    TEXT,
    'Without blanks, or the given characters, at the start.',
    "ltrim('00042', '0')",
    1,
  ),
  rtrim: text(['Text', 'Text'], TEXT, 'Without blanks, or the given characters, at the end.', "rtrim('1.500', '0')", 1),
  substr: text(
    ['Text', 'Integer', 'Integer'],
    TEXT,
    'The characters from the given position, which counts from 1, up to the given length or to the end. Positions before the start count as empty. A negative length is an error.',
    "substr('LSE:ACME', 5)",
    1,
  ),
  replace: text(
    ['Text', 'Text', 'Text'],
    TEXT,
    'With every occurrence of the second argument replaced by the third. An empty second argument changes nothing.',
    "replace('a-b', '-', '+')",
  ),
  position: text(
    ['Text', 'Text'],
    INTEGER,
    'The position of the first occurrence of the second argument in the first, from 1; 0 if there is none.',
    "position('LSE:ACME', ':')",
  ),
  left: text(
    ['Text', 'Integer'],
    TEXT,
    'The first characters; with a negative count all but the last ones.',
    "left('ACME.L', -2)",
  ),
  right: text(
    ['Text', 'Integer'],
    TEXT,
    'The last characters; with a negative count all but the first ones.',
    "right('ACME.L', 2)",
  ),
  lpad: text(
    ['Text', 'Integer', 'Text'],
    TEXT,
    'Padded at the start to the given length with blanks or the given text; truncated at the end if longer.',
    "lpad('7', 3, '0')",
    1,
  ),
  rpad: text(
    ['Text', 'Integer', 'Text'],
    TEXT,
    'Padded at the end to the given length with blanks or the given text; truncated if longer.',
    "rpad('ab', 4, '.')",
    1,
  ),
  repeat: text(['Text', 'Integer'], TEXT, 'The text repeated; a negative count is zero.', "repeat('ab', 2)"),
  reverse: text(['Text'], TEXT, 'The characters in reverse order.', "reverse('abc')"),
  starts_with: text(
    ['Text', 'Text'],
    BOOLEAN,
    'Whether the first argument starts with the second.',
    "starts_with('ACME.L', 'ACME')",
  ),
  ends_with: text(
    ['Text', 'Text'],
    BOOLEAN,
    'Whether the first argument ends with the second.',
    "ends_with('ACME.L', '.L')",
  ),
  contains: text(
    ['Text', 'Text'],
    BOOLEAN,
    'Whether the first argument contains the second.',
    "contains('ACME.L', 'E.L')",
  ),
  split_part: text(
    ['Text', 'Text', 'Integer'],
    TEXT,
    'The part with the given number, from 1, between the separators; empty if there are fewer parts.',
    "split_part('LSE:ACME', ':', 2)",
  ),
  concat: {
    ...text(['Text'], TEXT, 'The concatenation of all texts; NULL counts as empty.', "concat('a', NULL, 'b')"),
    variadic: true,
    nullable: 'never',
  },

  abs: number(['number'], ([x = INTEGER]) => x, 'The absolute value.', 'abs(-2.5)'),
  sign: number(['number'], INTEGER, '-1, 0 or 1.', 'sign(-2.5)'),
  round: number(['number'], wholePart, 'Rounded to a whole number, half away from zero.', 'round(2.5)'),
  round_digits: {
    ...number(
      ['exact', 'digits'],
      keptDigits,
      'Rounded to the given number of digits after the point, half away from zero.',
      'round(2.345, 2)',
    ),
    name: 'round',
  },
  trunc: number(['number'], wholePart, 'Truncated toward zero to a whole number.', 'trunc(-2.7)'),
  trunc_digits: {
    ...number(
      ['exact', 'digits'],
      keptDigits,
      'Truncated toward zero to the given number of digits after the point.',
      'trunc(2.349, 2)',
    ),
    name: 'trunc',
  },
  floor: number(['number'], wholePart, 'The greatest whole number that is not greater.', 'floor(-2.1)'),
  ceil: number(['number'], wholePart, 'The least whole number that is not less.', 'ceil(2.1)'),
  sqrt: number(['Double'], DOUBLE, 'The square root; a negative number is an error.', 'sqrt(2)'),
  power: number(
    ['Double', 'Double'],
    DOUBLE,
    'The first argument raised to the power of the second, to 12 significant digits.',
    'power(2, 10)',
  ),
  exp: number(['Double'], DOUBLE, 'e raised to that power, to 12 significant digits.', 'exp(1)'),
  ln: number(
    ['Double'],
    DOUBLE,
    'The natural logarithm, to 12 significant digits; zero or a negative number is an error.',
    'ln(10)',
  ),
  least: number(['common'], ([x = INTEGER]) => x, 'The least argument; NULLs are ignored.', 'least(3, 1, 2)', true),
  greatest: number(
    ['common'],
    ([x = INTEGER]) => x,
    'The greatest argument; NULLs are ignored.',
    'greatest(3, 1.5, 2)',
    true,
  ),

  now: {
    ...time([], TIMESTAMP, 'The time at which the statement started.', 'now()'),
    nullable: 'never',
    volatility: 'stable',
  },
  current_date: {
    ...time([], DATE, 'The date in UTC on which the statement started.', 'current_date()'),
    nullable: 'never',
    volatility: 'stable',
  },
  timezone: time(
    ['zone', 'Timestamp'],
    LOCAL_TIMESTAMP,
    'What the clocks of the zone read at that time. Written `x AT TIME ZONE zone`.',
    "TIMESTAMP '2026-07-01T13:30:00Z' AT TIME ZONE 'America/New_York'",
  ),
  timezone_local: {
    ...time(
      ['zone', 'LocalTimestamp'],
      TIMESTAMP,
      'The time at which the clocks of the zone read that. A reading that they skip has the offset before, one that they repeat the offset after.',
      "LOCALTIMESTAMP '2026-07-01T09:30:00' AT TIME ZONE 'America/New_York'",
    ),
    name: 'timezone',
  },
  date_trunc: time(
    ['unit', 'moment'],
    second,
    'Truncated to the start of its year, quarter, month, week (Monday), day, hour, minute, second or millisecond.',
    "date_trunc('hour', TIMESTAMP '2026-01-31T09:45:10Z')",
  ),
  date_trunc_zone: {
    ...time(
      ['unit', 'Timestamp', 'zone'],
      TIMESTAMP,
      'The same by the clocks of the zone: the start of its year, quarter, month, week, day, hour, minute, second or millisecond there.',
      "date_trunc('day', TIMESTAMP '2026-07-01T02:00:00Z', 'America/New_York')",
    ),
    name: 'date_trunc',
  },
  date_part: time(
    ['part', 'moment'],
    INTEGER,
    'One part, as a whole number: year, isoyear (of the ISO week), quarter, month, week (ISO), day, dayofweek or isodow (Monday is 1, Sunday 7), dow (Sunday is 0), dayofyear or doy, hour, minute, second, millisecond and microsecond (within the second), epoch (seconds since 1970). EXTRACT(part FROM x) is equivalent, except for the last four.',
    "date_part('hour', TIMESTAMP '2026-01-31T09:45:10Z')",
  ),
  date_part_zone: {
    ...time(
      ['part', 'Timestamp', 'zone'],
      INTEGER,
      'The same by the clocks of the zone; epoch is that of the time itself.',
      "date_part('hour', TIMESTAMP '2026-07-01T13:30:00Z', 'America/New_York')",
    ),
    name: 'date_part',
  },
  date_part_time: {
    ...time(
      ['part', 'Time'],
      INTEGER,
      'One part of a time of day: hour, minute, second, millisecond, microsecond.',
      "date_part('minute', TIME '09:45:10')",
    ),
    name: 'date_part',
  },
  extract: time(
    ['fine', 'moment'],
    finePart,
    'Written `EXTRACT(second FROM x)`: the second with its fraction; millisecond and microsecond: the seconds and their fraction in that unit; epoch: the seconds since 1970 with their fraction. As in PostgreSQL. All other parts are those of date_part.',
    "EXTRACT(second FROM TIMESTAMP '2026-01-31T09:45:10.25Z')",
  ),
  extract_time: {
    ...time(
      ['fine', 'Time'],
      finePart,
      'The same of a time of day; epoch is that since midnight.',
      "EXTRACT(millisecond FROM TIME '09:45:10.25')",
    ),
    name: 'extract',
  },
  date_diff: time(
    ['span', 'moment', 'moment'],
    INTEGER,
    'Whole weeks, days, hours, minutes, seconds, milliseconds or microseconds from the first to the second, truncated toward zero.',
    "date_diff('minute', TIMESTAMP '2026-01-31T09:45:10Z', TIMESTAMP '2026-01-31T10:00:00Z')",
  ),
  time_bucket: {
    ...time(
      ['fixed', 'moment'],
      second,
      'The start of the bucket with the given width. Buckets are aligned to Monday 2000-01-03. A width of zero or less is an error.',
      "time_bucket(INTERVAL '5 minutes', TIMESTAMP '2026-01-31T09:47:10Z')",
    ),
    group: 'Market data',
  },
  time_bucket_months: {
    ...time(
      ['months', 'moment'],
      second,
      'The same in whole months, aligned to January 2000.',
      "time_bucket(INTERVAL '3 months', TIMESTAMP '2026-02-28T00:00:00Z')",
    ),
    group: 'Market data',
    name: 'time_bucket',
  },
  time_bucket_zone: {
    ...time(
      ['fixed', 'Timestamp', 'zone'],
      TIMESTAMP,
      'The start of the bucket by the clocks of the zone. Buckets of whole days begin at the first instant of a local date, counted from Monday 2000-01-03; shorter ones where the clock reads, or skips, a multiple of the width since midnight.',
      "time_bucket('30 minutes', TIMESTAMP '2026-07-01T13:47:10Z', 'America/New_York')",
    ),
    group: 'Market data',
    name: 'time_bucket',
  },
  time_bucket_months_zone: {
    ...time(
      ['months', 'Timestamp', 'zone'],
      TIMESTAMP,
      'The same in whole months, which begin at the first instant of a local date.',
      "time_bucket('1 month', TIMESTAMP '2026-07-01T02:00:00Z', 'America/New_York')",
    ),
    group: 'Market data',
    name: 'time_bucket',
  },

  json_get: {
    ...json(
      'Text',
      JSON_TYPE,
      'The member with that name, as Json; NULL if there is none.',
      `json_get(JSON '{"a": {"b": 1}}', 'a')`,
    ),
  },
  json_item: {
    ...json(
      'Integer',
      JSON_TYPE,
      'The item at that index, from 0, as Json; NULL if there is none.',
      "json_get(JSON '[10, 20]', 1)",
    ),
    name: 'json_get',
  },
  json_text: {
    ...json(
      'Text',
      TEXT,
      'The member with that name: a string without its quotes, any other value as written; NULL if it is null or missing.',
      `json_text(JSON '{"a": "x"}', 'a')`,
    ),
  },
  json_item_text: {
    ...json('Integer', TEXT, 'The item at that index, from 0, in the same form.', `json_text(JSON '["x"]', 0)`),
    name: 'json_text',
  },
  gen_uuid: entry('Json and Uuid', [], UUID, 'A random Uuid (version 4), a new one for each row.', 'gen_uuid()', {
    nullable: 'never',
    volatility: 'volatile',
  }),
} as const satisfies Record<string, Unnamed>

/** An entry whose name defaults to its key in the table. */
export type Unnamed = Omit<FunctionEntry, 'name'> & { readonly name?: string }

/** PostgreSQL's digits after the point. */
const FINE_TYPES: ReadonlyMap<string, IqlType> = new Map<string, IqlType>([
  ['second', decimal(8, 6)],
  ['millisecond', decimal(8, 3)],
  ['epoch', decimal(18, 6)],
])

function finePart(_types: readonly IqlType[], [part]: Literals): IqlType {
  return FINE_TYPES.get(String(part)) ?? INTEGER
}

/** A time as the second argument keeps its type. */
function second([, x = TIMESTAMP]: readonly IqlType[]): IqlType {
  return x
}

/** For floor, ceil, round and trunc: a Decimal loses its scale, but may gain a digit before the point. */
function wholePart([x = INTEGER]: readonly IqlType[]): IqlType {
  return x.kind === 'Decimal' ? decimal(x.precision - x.scale + 1, 0) : x
}

function keptDigits([x = INTEGER]: readonly IqlType[], literals: Literals): IqlType {
  const digits = Number(literals[1] ?? 0n)
  const { precision, scale }: DecimalType = x.kind === 'Decimal' ? x : decimal(19, 0)
  return decimal(precision - scale + 1 + digits, digits)
}

function text(
  args: Unnamed['arguments'],
  result: Unnamed['result'],
  description: string,
  example: string,
  optional = 0,
) {
  return entry('Text', args, result, description, example, { optional })
}

function number(
  args: Unnamed['arguments'],
  result: Unnamed['result'],
  description: string,
  example: string,
  variadic = false,
) {
  return entry('Numbers', args, result, description, example, variadic ? { variadic: true, nullable: 'all' } : {})
}

function time(args: Unnamed['arguments'], result: Unnamed['result'], description: string, example: string) {
  return entry('Time', args, result, description, example)
}

function json(key: 'Text' | 'Integer', result: IqlType, description: string, example: string) {
  return entry('Json and Uuid', ['Json', key], result, description, example, { nullable: 'always' })
}

function entry(
  group: Unnamed['group'],
  args: Unnamed['arguments'],
  result: Unnamed['result'],
  description: string,
  example: string,
  rest: Partial<Unnamed> = {},
): Unnamed {
  return { kind: 'scalar', group, arguments: args, result, nullable: 'strict', description, example, ...rest }
}
