/** The functions of IQL that are used in FROM: many rows from a few values. */

import { MAX_SERIES_ROWS_TEXT } from '../syntax/limits.ts'
import { INTEGER, type IqlType, TIMESTAMP } from '../types/types.ts'
import type { FunctionEntry } from './entry.ts'
import type { Unnamed } from './scalar.ts'

export const TABLE_FUNCTIONS = {
  generate_series: series(
    ['Integer', 'Integer', 'Integer'],
    INTEGER,
    `The numbers from the first to the last, in steps of the third argument, by default 1, which must be positive. There are no rows if an argument is NULL, and at most ${MAX_SERIES_ROWS_TEXT}. The column has the name of its alias.`,
    'generate_series(1, 10) AS n',
    1,
  ),
  generate_series_time: series(
    ['moment', 'moment', 'fixed'],
    first,
    'The same for times: from the first to the last, in steps of the interval.',
    "generate_series('2026-01-30T10:00:00Z', '2026-01-30T11:00:00Z', '5 minutes') AS bar",
  ),
  generate_series_months: series(
    ['moment', 'moment', 'months'],
    first,
    'The same in steps of whole months, each counted from the first time: from 31 January, the last day of every month.',
    "generate_series('2026-01-31T00:00:00Z', '2026-12-31T00:00:00Z', '1 month') AS month",
  ),
  generate_series_zone: series(
    ['Timestamp', 'Timestamp', 'fixed', 'zone'],
    TIMESTAMP,
    'The same by the clocks of the zone: a step of whole days keeps the local time of day, which AT TIME ZONE converts; a shorter step is that long.',
    "generate_series('2026-03-06T14:30:00Z', '2026-03-13T14:30:00Z', '1 day', 'America/New_York') AS opening",
  ),
  generate_series_months_zone: series(
    ['Timestamp', 'Timestamp', 'months', 'zone'],
    TIMESTAMP,
    'The same in steps of whole months.',
    "generate_series('2026-01-01T05:00:00Z', '2026-12-31T00:00:00Z', '1 month', 'America/New_York') AS month",
  ),
} as const satisfies Record<string, Unnamed>

/** The starts of buckets, from that of the first time to the last before the second. Only time_bucket_gapfill is rewritten to it. */
export const BUCKET_FUNCTIONS = {
  bucket_series: series(['Timestamp', 'Timestamp', 'fixed', 'zone'], TIMESTAMP, '', ''),
  bucket_series_months: series(['Timestamp', 'Timestamp', 'months', 'zone'], TIMESTAMP, '', ''),
} as const satisfies Record<string, Unnamed>

/** With a space: no statement can call it. */
export const BUCKET_SERIES = 'bucket series'

function first([x = TIMESTAMP]: readonly IqlType[]): IqlType {
  return x
}

function series(
  args: FunctionEntry['arguments'],
  result: FunctionEntry['result'],
  description: string,
  example: string,
  optional = 0,
): Unnamed {
  const common = { name: 'generate_series', kind: 'table', group: 'Tables', nullable: 'never' } as const
  return { ...common, arguments: args, result, description, example, optional }
}
