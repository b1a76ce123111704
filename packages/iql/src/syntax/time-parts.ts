/** Words for the parts of a time. */

/** The parts that EXTRACT gives with their fractions, as PostgreSQL does. date_part gives whole numbers. */
export const FINE_PARTS = ['second', 'millisecond', 'microsecond', 'epoch'] as const

/** PostgreSQL's other words for parts and units. */
export const PART_ALIASES: ReadonlyMap<string, string> = new Map([
  ['isodow', 'dayofweek'],
  ['doy', 'dayofyear'],
  ...['year', 'quarter', 'month', 'week', 'day', 'hour', 'minute', 'second', 'millisecond', 'microsecond'].map(
    (part) => [`${part}s`, part] as const,
  ),
])
