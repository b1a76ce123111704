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
