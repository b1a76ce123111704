/** The scalar functions of IQL: one value out of the values of one row. */
import type { FunctionEntry } from './function-entry.ts'
import {
  BOOLEAN,
  DATE,
  type DecimalType,
  DOUBLE,
  decimal,
  INTEGER,
  type IqlType,
  JSON_TYPE,
  TEXT,
  TIMESTAMP,
  UUID,
} from './types.ts'

export const SCALAR_FUNCTIONS = {
  length: text(['Text'], INTEGER, 'Number of characters (code points).', "length('BHP')"),
  upper: text(['Text'], TEXT, 'In upper case, by Unicode.', "upper('straße')"),
  lower: text(['Text'], TEXT, 'In lower case, by Unicode.', "lower('ÅSE')"),
  trim: text(['Text', 'Text'], TEXT, 'Without the blanks, or the characters given, at both ends.', "trim('  x ')", 1),
  ltrim: text(
    ['Text', 'Text'],
    TEXT,
    'Without the blanks, or the characters given, at the start.',
    "ltrim('00042', '0')",
    1,
  ),
  rtrim: text(
    ['Text', 'Text'],
    TEXT,
    'Without the blanks, or the characters given, at the end.',
    "rtrim('1.500', '0')",
    1,
  ),
  substr: text(
    ['Text', 'Integer', 'Integer'],
    TEXT,
    'From the position given (the first is 1; those before the start are empty), so many characters or all; a length below zero is an error.',
    "substr('ASX:BHP', 5)",
    1,
  ),
  replace: text(
    ['Text', 'Text', 'Text'],
    TEXT,
    'With every occurrence of the second replaced by the third; an empty second changes nothing.',
    "replace('a-b', '-', '+')",
  ),
  position: text(
    ['Text', 'Text'],
    INTEGER,
    'Where the second first stands in the first, from 1; 0 when it does not.',
    "position('ASX:BHP', ':')",
  ),
  left: text(['Text', 'Integer'], TEXT, 'The first characters; a count below zero is zero.', "left('BHP.AX', 3)"),
  right: text(['Text', 'Integer'], TEXT, 'The last characters; a count below zero is zero.', "right('BHP.AX', 2)"),
  lpad: text(
    ['Text', 'Integer', 'Text'],
    TEXT,
    'Filled at the start to the length given with blanks or the text given, cut at the end when longer.',
    "lpad('7', 3, '0')",
    1,
  ),
  rpad: text(
    ['Text', 'Integer', 'Text'],
    TEXT,
    'Filled at the end to the length given with blanks or the text given, cut when longer.',
    "rpad('ab', 4, '.')",
    1,
  ),
  repeat: text(['Text', 'Integer'], TEXT, 'So many times over; a count below zero is zero.', "repeat('ab', 2)"),
  reverse: text(['Text'], TEXT, 'The characters from last to first.', "reverse('abc')"),
  starts_with: text(
    ['Text', 'Text'],
    BOOLEAN,
    'Whether the first begins with the second.',
    "starts_with('BHP.AX', 'BHP')",
  ),
  ends_with: text(['Text', 'Text'], BOOLEAN, 'Whether the first ends with the second.', "ends_with('BHP.AX', '.AX')"),
  contains: text(
    ['Text', 'Text'],
    BOOLEAN,
    'Whether the second stands anywhere in the first.',
    "contains('BHP.AX', 'P.A')",
  ),
  split_part: text(
    ['Text', 'Text', 'Integer'],
    TEXT,
    'The piece of that number, from 1, between the separators; empty when there are fewer.',
    "split_part('ASX:BHP', ':', 2)",
  ),
  concat: {
    ...text(['Text'], TEXT, 'All texts in a row; NULL counts as empty.', "concat('a', NULL, 'b')"),
    variadic: true,
    nullable: 'never',
  },

  abs: number(['number'], ([x = INTEGER]) => x, 'Without the sign.', 'abs(-2.5)'),
  sign: number(['number'], INTEGER, '-1, 0 or 1.', 'sign(-2.5)'),
  round: number(['number'], wholePart, 'To the nearest whole number, halves away from zero.', 'round(2.5)'),
  round_digits: {
    ...number(
      ['exact', 'digits'],
      keptDigits,
      'To so many digits after the point, halves away from zero.',
      'round(2.345, 2)',
    ),
    name: 'round',
  },
  trunc: number(['number'], wholePart, 'Toward zero, to a whole number.', 'trunc(-2.7)'),
  trunc_digits: {
    ...number(['exact', 'digits'], keptDigits, 'Toward zero, to so many digits after the point.', 'trunc(2.349, 2)'),
    name: 'trunc',
  },
  floor: number(['number'], wholePart, 'The greatest whole number that is not above.', 'floor(-2.1)'),
  ceil: number(['number'], wholePart, 'The least whole number that is not below.', 'ceil(2.1)'),
  sqrt: number(['Double'], DOUBLE, 'Square root; of a number below zero an error.', 'sqrt(2)'),
  power: number(
    ['Double', 'Double'],
    DOUBLE,
    'The first to the power of the second, to 12 significant digits.',
    'power(2, 10)',
  ),
  exp: number(['Double'], DOUBLE, 'e to that power, to 12 significant digits.', 'exp(1)'),
  ln: number(['Double'], DOUBLE, 'Natural logarithm, to 12 significant digits; not above zero is an error.', 'ln(10)'),
  least: number(['common'], ([x = INTEGER]) => x, 'The least; NULLs are passed over.', 'least(3, 1, 2)', true),
  greatest: number(
    ['common'],
    ([x = INTEGER]) => x,
    'The greatest; NULLs are passed over.',
    'greatest(3, 1.5, 2)',
    true,
  ),

  now: { ...time([], TIMESTAMP, 'The time at which the statement began.', 'now()'), nullable: 'never' },
  current_date: {
    ...time([], DATE, 'The date, in UTC, at which the statement began.', 'current_date()'),
    nullable: 'never',
  },
  date_trunc: time(
    ['unit', 'moment'],
    TIMESTAMP,
    'Cut to the start of its year, quarter, month, week (Monday), day, hour, minute, second or millisecond.',
    "date_trunc('hour', TIMESTAMP '2026-01-31T09:45:10Z')",
  ),
  date_part: time(
    ['part', 'moment'],
    INTEGER,
    'One part: year, quarter, month, week (ISO), day, dayofweek (Monday is 1), dayofyear, hour, minute, second, millisecond and microsecond (within the second), epoch (seconds since 1970). EXTRACT(part FROM x) is the same.',
    "date_part('hour', TIMESTAMP '2026-01-31T09:45:10Z')",
  ),
  date_part_time: {
    ...time(
      ['part', 'Time'],
      INTEGER,
      'One part of a time of day: hour, minute, second, millisecond, microsecond.',
      "date_part('minute', TIME '09:45:10')",
    ),
    name: 'date_part',
  },
  date_diff: time(
    ['span', 'moment', 'moment'],
    INTEGER,
    'Whole weeks, days, hours, minutes, seconds, milliseconds or microseconds from the first to the second, cut toward zero.',
    "date_diff('minute', TIMESTAMP '2026-01-31T09:45:10Z', TIMESTAMP '2026-01-31T10:00:00Z')",
  ),
  time_bucket: {
    ...time(
      ['fixed', 'moment'],
      TIMESTAMP,
      'The start of the bucket of that width; buckets are counted from Monday 2000-01-03. A width not above zero is an error.',
      "time_bucket(INTERVAL '5 minutes', TIMESTAMP '2026-01-31T09:47:10Z')",
    ),
    group: 'Market data',
  },
  time_bucket_months: {
    ...time(
      ['months', 'moment'],
      TIMESTAMP,
      'The same in whole months, counted from January 2000.',
      "time_bucket(INTERVAL '3 months', TIMESTAMP '2026-02-28T00:00:00Z')",
    ),
    group: 'Market data',
    name: 'time_bucket',
  },

  json_get: {
    ...json(
      'Text',
      JSON_TYPE,
      'The member of that name, as Json; NULL when there is none.',
      `json_get(JSON '{"a": {"b": 1}}', 'a')`,
    ),
  },
  json_item: {
    ...json(
      'Integer',
      JSON_TYPE,
      'The item at that place, from 0, as Json; NULL when there is none.',
      "json_get(JSON '[10, 20]', 1)",
    ),
    name: 'json_get',
  },
  json_text: {
    ...json(
      'Text',
      TEXT,
      'The member of that name: a text without its quotes, all else as written; NULL when it is null or not there.',
      `json_text(JSON '{"a": "x"}', 'a')`,
    ),
  },
  json_item_text: {
    ...json('Integer', TEXT, 'The item at that place, from 0, in the same way.', `json_text(JSON '["x"]', 0)`),
    name: 'json_text',
  },
  gen_uuid: entry('Json and Uuid', [], UUID, 'A new random Uuid (version 4), another one for each row.', 'gen_uuid()', {
    nullable: 'never',
  }),
} as const satisfies Record<string, Unnamed>

/** An entry whose name, unless it says otherwise, is its key in the table. */
export type Unnamed = Omit<FunctionEntry, 'name'> & { readonly name?: string }

/** floor and its like: a Decimal loses its scale, but may gain a digit before the point. */
function wholePart([x = INTEGER]: readonly IqlType[]): IqlType {
  return x.kind === 'Decimal' ? decimal(x.precision - x.scale + 1, 0) : x
}

function keptDigits([x = INTEGER]: readonly IqlType[], literals: readonly (bigint | undefined)[]): IqlType {
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
