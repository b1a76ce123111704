/** The aggregate and window functions of IQL: one value from many rows. */

import { quotientScale } from '../types/operators.ts'
import { asDecimal, BOOLEAN, DECIMAL_DIGITS, DOUBLE, decimal, INTEGER, type IqlType, TEXT } from '../types/types.ts'
import type { FunctionEntry } from './entry.ts'
import type { Unnamed } from './scalar.ts'

export const AGGREGATE_FUNCTIONS = {
  count: {
    ...aggregate(
      ['any'],
      INTEGER,
      'The number of rows in which the argument is not NULL; count(*) counts all rows.',
      'count(*)',
      true,
    ),
    nullable: 'never',
  },
  sum: aggregate(
    ['number'],
    sumType,
    'The sum. For Integer and Decimal a Decimal with 38 digits and the same scale; for Double a Double: the exact sum of the shortest decimal forms, rounded once, so that the order of rows does not matter.',
    'sum(quantity)',
    true,
  ),
  avg: aggregate(
    ['number'],
    averageType,
    'The mean. For Integer and Decimal a Decimal with scale max(s, 16), or 12 where the whole part may need the digits, rounded half away from zero; for Double a Double: the sum as above, divided by the count.',
    'avg(price)',
    true,
  ),
  min: aggregate(['ordered'], first, 'The least value.', 'min(price)', true),
  max: aggregate(['ordered'], first, 'The greatest value.', 'max(price)', true),
  bool_and: aggregate(['Boolean'], BOOLEAN, 'Whether all values are true.', 'bool_and(quantity > 0)', true),
  bool_or: aggregate(['Boolean'], BOOLEAN, 'Whether any value is true.', 'bool_or(quantity > 100)', true),
  variance: aggregate(
    ['number'],
    varianceType,
    'The sample variance, (n Σx² − (Σx)²) / (n (n − 1)), calculated exactly, for Double over the shortest decimal forms, and rounded once, like avg (for squares the whole part needs twice the digits) or to a Double; NULL for fewer than two rows.',
    'variance(price)',
    true,
  ),
  stddev: aggregate(
    ['number'],
    averageType,
    'The sample standard deviation: the square root of the unrounded variance, rounded once in the same way.',
    'stddev(price)',
    true,
  ),
  var_pop: aggregate(
    ['number'],
    varianceType,
    'The variance of the population, (n Σx² − (Σx)²) / n², calculated and rounded in the same way; NULL without rows.',
    'var_pop(price)',
    true,
  ),
  stddev_pop: aggregate(
    ['number'],
    averageType,
    'The standard deviation of the population: the square root of the unrounded var_pop.',
    'stddev_pop(price)',
    true,
  ),
  corr: aggregate(
    ['number', 'number'],
    DOUBLE,
    'The correlation coefficient of the rows in which neither is NULL, from −1 to 1, from exact sums; NULL if either does not vary.',
    'corr(price, quantity)',
    true,
  ),
  covar_pop: pairs(
    'The covariance of the population, (n Σxy − Σx Σy) / n², of the rows in which neither is NULL, from exact sums and rounded once.',
    'covar_pop(price, quantity)',
  ),
  covar_samp: pairs(
    'The sample covariance, (n Σxy − Σx Σy) / (n (n − 1)), in the same way; NULL for fewer than two rows.',
    'covar_samp(price, quantity)',
  ),
  regr_slope: pairs(
    'The slope of the line of least squares through the points (x, y), of the arguments y and x; NULL if x does not vary.',
    'regr_slope(price, quantity)',
  ),
  regr_intercept: pairs('Where that line meets the axis of y.', 'regr_intercept(price, quantity)'),
  regr_r2: pairs(
    'The square of the correlation: the share of the variance of y that the line explains; 1 if y does not vary.',
    'regr_r2(price, quantity)',
  ),
  median: aggregate(
    ['number'],
    averageType,
    'The middle value, or the mean of the two middle values: percentile_cont(0.5, x). NULLs are ignored.',
    'median(price)',
  ),
  percentile_cont: aggregate(
    ['fraction', 'number'],
    ([, x]) => averageType(x === undefined ? [] : [x]),
    'The value at this fraction of the sorted values, interpolated between the two nearest: for Integer and Decimal exactly, rounded once like avg; for Double over the shortest decimal forms. Also `percentile_cont(0.9) WITHIN GROUP (ORDER BY x)`.',
    'percentile_cont(0.9, price)',
  ),
  percentile_disc: aggregate(
    ['fraction', 'number'],
    ([, x = INTEGER]) => x,
    'The first of the sorted values at or after this fraction of them. Also `percentile_disc(0.9) WITHIN GROUP (ORDER BY x)`.',
    'percentile_disc(0.9) WITHIN GROUP (ORDER BY price)',
  ),
  string_agg: {
    ...aggregate(
      ['Text', 'Text'],
      TEXT,
      'The texts joined with the separator, in the given order and then in their own order; NULLs are ignored. With `DISTINCT` the separator is the same for all rows.',
      "string_agg(symbol, ', ' ORDER BY symbol)",
    ),
    ordered: true,
  },
  first: market(
    ['comparable', 'ordered'],
    first,
    'The value in the row with the least second argument. Rows with a NULL in either are ignored; of tied rows the least value counts.',
    'first(price, executed_at)',
  ),
  last: market(
    ['comparable', 'ordered'],
    first,
    'The value in the row with the greatest second argument. Rows with a NULL in either are ignored; of tied rows the greatest value counts.',
    'last(price, executed_at)',
  ),
  vwap: {
    ...market(
      ['exact', 'exact'],
      vwapType,
      'The volume-weighted average price, Σ(price × quantity) / Σ(quantity), rounded half away from zero to scale max(s1, s2, 16). Rows with a NULL in either are ignored; NULL if the quantities sum to zero.',
      'vwap(price, quantity)',
    ),
    overWindow: true,
  },
} as const satisfies Record<string, Unnamed>

export const WINDOW_FUNCTIONS = {
  row_number: window(
    [],
    INTEGER,
    'never',
    'The number of the row in its partition, from 1.',
    'row_number() OVER (ORDER BY executed_at)',
  ),
  rank: window([], INTEGER, 'never', 'The rank, with gaps after ties.', 'rank() OVER (ORDER BY price DESC)'),
  dense_rank: window([], INTEGER, 'never', 'The rank, without gaps.', 'dense_rank() OVER (ORDER BY price DESC)'),
  percent_rank: window(
    [],
    DOUBLE,
    'never',
    'The rank as a fraction: (rank − 1) / (rows − 1), from 0 to 1; 0 for a single row.',
    'percent_rank() OVER (ORDER BY price)',
  ),
  cume_dist: window(
    [],
    DOUBLE,
    'never',
    'The fraction of the rows that are not after this one; of tied rows all count.',
    'cume_dist() OVER (ORDER BY price)',
  ),
  ntile: window(
    ['Integer'],
    INTEGER,
    'strict',
    'The number of the row’s bucket if the partition is divided into the given number of buckets of nearly equal size.',
    'ntile(4) OVER (ORDER BY price)',
  ),
  lag: window(
    ['any', 'Integer'],
    first,
    'always',
    'The value the given number of rows before, by default 1; NULL if there is no such row.',
    'lag(price) OVER (ORDER BY executed_at)',
    1,
  ),
  lag_default: {
    ...window(
      ['common', 'Integer', 'common'],
      first,
      'always',
      'The same, with the last argument instead of NULL if there is no such row. A NULL in that row stays NULL.',
      'lag(price, 1, 0) OVER (ORDER BY executed_at)',
    ),
    name: 'lag',
  },
  lead: window(
    ['any', 'Integer'],
    first,
    'always',
    'The value the given number of rows after, by default 1; NULL if there is no such row.',
    'lead(price, 2) OVER (ORDER BY executed_at)',
    1,
  ),
  lead_default: {
    ...window(
      ['common', 'Integer', 'common'],
      first,
      'always',
      'The same, with the last argument instead of NULL if there is no such row. A NULL in that row stays NULL.',
      'lead(price, 1, price) OVER (ORDER BY executed_at)',
    ),
    name: 'lead',
  },
  first_value: window(
    ['any'],
    first,
    'always',
    'The value in the first row of the frame.',
    'first_value(price) OVER (ORDER BY executed_at)',
  ),
  last_value: window(
    ['any'],
    first,
    'always',
    'The value in the last row of the frame.',
    'last_value(price) OVER (ORDER BY executed_at)',
  ),
  nth_value: window(
    ['any', 'Integer'],
    first,
    'always',
    'The value in the row of the frame with that number, from 1; NULL if the frame has fewer rows.',
    'nth_value(price, 2) OVER (ORDER BY executed_at)',
  ),
  locf: window(
    ['any'],
    first,
    'always',
    'The last value that is not NULL in this row and those before it, carried forward into gaps.',
    'locf(price) OVER (ORDER BY executed_at)',
  ),
  ema: window(
    ['number', 'Integer'],
    DOUBLE,
    'always',
    'The exponential moving average over n rows: the first value, and in each later row α x + (1 − α) times the average before it, with α = 2 / (n + 1). A NULL leaves it as it is. Order the rows by a key: rows that tie can come in any order.',
    'ema(price, 12) OVER (PARTITION BY symbol ORDER BY executed_at, id)',
  ),
  interpolate: window(
    ['number', 'moment'],
    averageType,
    'always',
    'The value or, if it is NULL, the value interpolated linearly at this time between the previous and the next known value; NULL if either is missing. For Integer and Decimal calculated exactly and rounded to the scale of avg. The rows are ordered by the second argument.',
    'interpolate(price, executed_at) OVER (ORDER BY executed_at)',
  ),
  interpolate_integer: {
    ...window(
      ['number', 'Integer'],
      averageType,
      'always',
      'The same along a number.',
      'interpolate(price, id) OVER (ORDER BY id)',
    ),
    name: 'interpolate',
  },
} as const satisfies Record<string, Unnamed>

function first([x = INTEGER]: readonly IqlType[]): IqlType {
  return x
}

function sumType([x = INTEGER]: readonly IqlType[]): IqlType {
  if (x.kind === 'Double') return x
  return decimal(DECIMAL_DIGITS, x.kind === 'Decimal' ? x.scale : 0)
}

function averageType([x = INTEGER]: readonly IqlType[]): IqlType {
  return meanType(x, 0, 1)
}

/** Squares have twice as many digits before the point. */
function varianceType([x = INTEGER]: readonly IqlType[]): IqlType {
  return meanType(x, 0, 2)
}

function vwapType([price = INTEGER, weight = INTEGER]: readonly IqlType[]): IqlType {
  return meanType(price, asDecimal(weight)?.scale ?? 0, 1)
}

function meanType(type: IqlType, leastScale: number, times: number): IqlType {
  const exact = asDecimal(type)
  if (exact === undefined) return type
  const scale = quotientScale(Math.max(exact.scale, leastScale), times * (exact.precision - exact.scale))
  return decimal(DECIMAL_DIGITS, scale)
}

function aggregate(
  args: FunctionEntry['arguments'],
  result: FunctionEntry['result'],
  description: string,
  example: string,
  overWindow = false,
): Unnamed {
  const common = { kind: 'aggregate', group: 'Aggregates', arguments: args, result, nullable: 'always' } as const
  return { ...common, description, example, ...(overWindow ? { overWindow } : {}) }
}

/** Of two numbers, y and x. */
function pairs(description: string, example: string): Unnamed {
  return aggregate(['number', 'number'], DOUBLE, description, example, true)
}

function market(
  args: FunctionEntry['arguments'],
  result: FunctionEntry['result'],
  description: string,
  example: string,
): Unnamed {
  return { ...aggregate(args, result, description, example), group: 'Market data' }
}

function window(
  args: FunctionEntry['arguments'],
  result: FunctionEntry['result'],
  nullable: FunctionEntry['nullable'],
  description: string,
  example: string,
  optional = 0,
): Unnamed {
  return { kind: 'window', group: 'Windows', arguments: args, result, nullable, description, example, optional }
}
