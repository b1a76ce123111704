/** The function table: statements can call these functions and no others. */

import { AGGREGATE_FUNCTIONS, WINDOW_FUNCTIONS } from './aggregate.ts'
import type { FunctionEntry } from './entry.ts'
import { SCALAR_FUNCTIONS } from './scalar.ts'
import { BUCKET_FUNCTIONS, BUCKET_SERIES, TABLE_FUNCTIONS } from './series.ts'

/** Identifies an entry. The engines key their SQL by these ids, so that a missing function does not compile. */
export type ScalarId = keyof typeof SCALAR_FUNCTIONS
export type AggregateId = keyof typeof AGGREGATE_FUNCTIONS
export type WindowId = keyof typeof WINDOW_FUNCTIONS
export type TableFunctionId = keyof typeof TABLE_FUNCTIONS | keyof typeof BUCKET_FUNCTIONS

/** An entry with its id, by kind. */
export type FunctionDefinition =
  | (FunctionEntry & { readonly kind: 'scalar'; readonly id: ScalarId })
  | (FunctionEntry & { readonly kind: 'aggregate'; readonly id: AggregateId })
  | (FunctionEntry & { readonly kind: 'window'; readonly id: WindowId })
  | (FunctionEntry & { readonly kind: 'table'; readonly id: TableFunctionId })

const GAPFILL = 'time_bucket_gapfill'

/** Forms that look like calls but have special rules. */
export const SPECIAL_FORMS = [
  { name: 'coalesce', description: 'The first argument that is not NULL.', example: "coalesce(NULL, 'x')" },
  { name: 'nullif', description: 'NULL if both are equal, otherwise the first.', example: 'nullif(5, 0)' },
  { name: 'mod', description: 'The same as the operator %.', example: 'mod(5, 3)' },
  {
    name: GAPFILL,
    description:
      'In GROUP BY: time_bucket of the width and the time, with a row for every bucket from that of the start to the last before the end. Aggregates of buckets without rows are NULL; locf(x) and interpolate(x) fill them from the neighbouring buckets with the same other keys. With a time zone as the last argument, the buckets are those of time_bucket with that zone.',
    example: "time_bucket_gapfill('1 hour', executed_at, '2026-01-30T00:00:00Z', '2026-01-31T00:00:00Z')",
  },
  {
    name: 'to_timestamp',
    description: 'The Timestamp that many seconds after 1970-01-01T00:00:00Z, to the microsecond.',
    example: 'to_timestamp(1767600000)',
  },
  { name: 'version', description: 'The version of PostgreSQL that tools see, and of Gatehouse.', example: 'version()' },
  { name: 'current_database', description: 'The name of the database: gatehouse.', example: 'current_database()' },
  { name: 'current_schema', description: 'The schema of all tables: public.', example: 'current_schema()' },
  {
    name: 'current_user',
    description: 'The user name of the caller, or the id of a client that acts for itself. Needs no parentheses.',
    example: 'current_user',
  },
] as const

export const FUNCTIONS: readonly FunctionDefinition[] = [
  ...tableEntries(SCALAR_FUNCTIONS).map(([id, entry]) => ({ name: id, ...entry, kind: 'scalar', id }) as const),
  ...tableEntries(AGGREGATE_FUNCTIONS).map(([id, entry]) => ({ name: id, ...entry, kind: 'aggregate', id }) as const),
  ...tableEntries(WINDOW_FUNCTIONS).map(([id, entry]) => ({ name: id, ...entry, kind: 'window', id }) as const),
  ...tableEntries(TABLE_FUNCTIONS).map(([id, entry]) => ({ name: id, ...entry, kind: 'table', id }) as const),
]

/** The functions of FROM with a name in lower case, and those that only a rewritten query can call. */
export function tableFunctionsNamed(name: string): readonly FunctionDefinition[] {
  if (name === BUCKET_SERIES)
    return tableEntries(BUCKET_FUNCTIONS).map(
      ([id, entry]) => ({ ...entry, name: GAPFILL, kind: 'table', id }) as const,
    )
  return functionsNamed(name).filter(({ kind }) => kind === 'table')
}

/** The index of the argument that is a time zone; -1 if there is none. */
export function zoneIndex(id: ScalarId): number {
  const kinds: readonly string[] = SCALAR_FUNCTIONS[id].arguments
  return kinds.indexOf('zone')
}

/** All entries with a name in lower case. */
export function functionsNamed(name: string): readonly FunctionDefinition[] {
  return BY_NAME.get(name) ?? []
}

/** Undefined for a function of its arguments alone. */
export function findVolatility(id: ScalarId): FunctionEntry['volatility'] {
  const entry: Pick<FunctionEntry, 'volatility'> = SCALAR_FUNCTIONS[id]
  return entry.volatility
}

export function functionNames(): string[] {
  return [...BY_NAME.keys(), ...SPECIAL_FORMS.map(({ name }) => name)]
}

/** Those for FROM. */
export function tableFunctionNames(): string[] {
  return FUNCTIONS.filter(({ kind }) => kind === 'table').map(({ name }) => name)
}

const BY_NAME: ReadonlyMap<string, readonly FunctionDefinition[]> = Map.groupBy(FUNCTIONS, ({ name }) => name)

function tableEntries<Id extends string, Entry>(table: Readonly<Record<Id, Entry>>): [Id, Entry][] {
  const isId = (key: string): key is Id => Object.hasOwn(table, key)
  return Object.keys(table)
    .filter(isId)
    .map((id) => [id, table[id]])
}
