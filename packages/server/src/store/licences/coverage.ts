/** What products cover. Each kind is told by the member with its name. */

export type Coverage = FeedCoverage | ControllerCoverage | TableCoverage | ResourceCoverage

/** `others`: what no coverage of any product names. */
export type Others = 'others'

export interface FeedCoverage {
  readonly feed: string
  /** Topics and patterns as in subscriptions; undefined: all. */
  readonly topics: readonly string[] | Others | undefined
}

export interface ControllerCoverage {
  readonly controller: string
  readonly topics: readonly string[] | Others | undefined
}

export interface TableCoverage {
  readonly table: string
  /** The column that says which rows are covered; undefined, as are the values: all. */
  readonly column: string | undefined
  readonly values: readonly (string | number)[] | Others | undefined
}

/** Resources of other programs, which ask for decisions. */
export interface ResourceCoverage {
  /** Their type. */
  readonly resource: string
  /** With `*` for any characters; undefined: all. */
  readonly ids: readonly string[] | undefined
  /** Actions besides `realtime` and `delayed`, which real-time access allows. */
  readonly actions: readonly string[]
  /** The values that a property may have, by its name; `action.` is before the name of a property of the action. */
  readonly where: Readonly<Record<string, readonly PropertyValue[]>>
}

export type PropertyValue = string | number | boolean

export function resourceCoverages(covers: readonly Coverage[], type: string): ResourceCoverage[] {
  return covers.filter((coverage): coverage is ResourceCoverage => 'resource' in coverage && coverage.resource === type)
}

/** The delays, in milliseconds, with which products cover each feed or table, by its name (of tables in lower case); the shortest first. */
export function delaysByName(
  products: Iterable<{ readonly delay: number | undefined; readonly covers: readonly Coverage[] }>,
  kind: 'feed' | 'table',
): ReadonlyMap<string, readonly number[]> {
  const delays = new Map<string, Set<number>>()
  for (const { delay, covers } of products)
    for (const coverage of delay === undefined ? [] : covers) {
      const name = coveredName(coverage, kind)
      if (name === undefined || delay === undefined) continue
      const known = delays.get(name) ?? new Set<number>()
      delays.set(name, known.add(delay))
    }
  return new Map(Array.from(delays, ([name, found]) => [name, [...found].sort((one, other) => one - other)]))
}

function coveredName(coverage: Coverage, kind: 'feed' | 'table'): string | undefined {
  if (kind === 'feed') return 'feed' in coverage ? coverage.feed : undefined
  return 'table' in coverage ? coverage.table.toLowerCase() : undefined
}
