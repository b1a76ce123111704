/** What functions are registered in: a connection of better-sqlite3, or one of Node's own SQLite. */
export interface FunctionHost {
  function(name: string, options: FunctionOptions, run: (...values: never[]) => unknown): unknown
  /** Takes `AggregateOptions`: the types of better-sqlite3 expect a step to return a new state, which is not needed. */
  aggregate(name: string, options: never): unknown
}

export interface FunctionOptions {
  /** Any number of arguments; otherwise as many as the function has parameters. */
  readonly varargs?: boolean
  readonly deterministic?: boolean
  readonly safeIntegers?: boolean
  /** Triggers and views in the file cannot call it. */
  readonly directOnly?: boolean
}

export interface AggregateOptions extends FunctionOptions {
  readonly start: () => unknown
  readonly step: (state: never, ...values: never[]) => void
  readonly inverse?: ((state: never, ...values: never[]) => void) | undefined
  readonly result: (state: never) => unknown
}
