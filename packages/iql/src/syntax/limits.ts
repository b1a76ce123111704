/** Limits on the size and the nesting of a statement, and on the texts that it creates. */

export type Limits = Readonly<typeof DEFAULT_LIMITS>

export const DEFAULT_LIMITS = {
  /** In UTF-8. */
  statementBytes: 64 * 1024,
  tokens: 50_000,
  /** Nested parentheses, sub-queries, CASE and NOT. */
  nesting: 64,
  /** Nested operators other than AND and OR: a + b + c has a height of two. */
  height: 300,
  /** AND and OR operators in one expression. */
  conditions: 500,
  /** In the whole statement. */
  joins: 16,
  /** UNION, INTERSECT and EXCEPT in the whole statement. */
  setOperations: 64,
  inItems: 10_000,
  /** Outputs of a SELECT, keys of GROUP BY, ORDER BY and PARTITION BY, arguments of a function. SQLite has no more columns. */
  listItems: 2000,
  /** SELECT in the whole statement, those of WITH, of sub-queries and of set operations included. */
  queries: 256,
}

/**
 * The bytes of all texts that a statement may create for one row, in UTF-8. Each of the operations that create them may create an
 * equal share, so that neither a value nor a row can exhaust memory.
 */
export const MAX_CREATED_BYTES = 16 * 1024 * 1024

/**
 * The bytes of all texts that the evaluation of a row may hold: a text counts as often as expressions read it, and again for each
 * function that returns a copy. MAX_HELD_TEXTS texts cannot exceed this.
 */
export const MAX_HELD_BYTES = 16 * MAX_CREATED_BYTES
export const MAX_HELD_TEXTS = 16

/**
 * PostgreSQL holds the minima and maxima of all groups, and the values that NOT IN compares with, without a memory limit. All
 * minima and maxima of one group share the first limit.
 */
export const MAX_GROUP_BYTES = 8 * 1024
export const MAX_LIST_BYTES = 128 * 1024 * 1024

/** The bytes of all texts in one row of a result. A row is encoded and sent as a whole. */
export const MAX_RESULT_ROW_BYTES = 2 * MAX_CREATED_BYTES

/**
 * The bytes of all texts in a key, or in an entry of an index. PostgreSQL has room for 2704, including the other columns; SQLite has
 * no limit.
 */
export const MAX_KEY_BYTES = 2500

/**
 * The values of one group that the medians and percentiles of a statement may hold together. Each may hold an equal share, rounded
 * to a power of two, less one. Values of more than 18 digits count as four.
 */
export const MAX_HELD_VALUES = 2 ** 22

/** The rows of generate_series: enough for the minutes of a year. */
export const MAX_SERIES_ROWS = 1_000_000
/** The number as messages show it. toLocaleString would load ICU, which costs 30 ms of the start and 10 MiB. */
export const MAX_SERIES_ROWS_TEXT = '1,000,000'

/** SQLite copies a WITH query for every use, and those in the copies again: a chain that doubles would never be prepared. */
export const MAX_WITH_USES = 1000

/** Names of outputs in the expressions of ORDER BY. Each use is a copy of the output, and those in the copies count again. */
export const MAX_OUTPUT_USES = 16

/**
 * The expressions of a statement, with the copies that databases make of them before they run it. Without copies no statement can
 * reach this number.
 */
export const MAX_COPIED_EXPRESSIONS = 100_000
