/** The words of the grammar. Reserved words are names only in double quotes, all others can be names. */

export const RESERVED: ReadonlySet<string> = new Set([
  'all',
  'and',
  'as',
  'asof',
  'between',
  'by',
  'case',
  'cast',
  'cross',
  'default',
  'distinct',
  'else',
  'end',
  'except',
  'exists',
  'false',
  'from',
  'full',
  'group',
  'having',
  'ilike',
  'in',
  'inner',
  'intersect',
  'into',
  'is',
  'join',
  'left',
  'like',
  'limit',
  'not',
  'null',
  'offset',
  'on',
  'or',
  'order',
  'outer',
  'returning',
  'right',
  'select',
  'set',
  'then',
  'true',
  'union',
  'using',
  'values',
  'when',
  'where',
  'with',
])

/** Reserved words that are functions if a parenthesis follows. */
export const RESERVED_FUNCTIONS: ReadonlySet<string> = new Set(['left', 'right'])

/** Functions that are called without parentheses, as in SQL, and their names. */
export const BARE_CALLS: ReadonlyMap<string, string> = new Map([
  ['current_date', 'current_date'],
  ['current_timestamp', 'now'],
  ['current_user', 'current_user'],
  ['session_user', 'current_user'],
  ['current_catalog', 'current_database'],
  ['current_schema', 'current_schema'],
])

/** Words of the grammar that can also be names. */
const OTHER_KEYWORDS =
  `acr add age alter analyze any asc at both btree character check collate column columns comment concurrently conflict constraint create current data date delete desc describe do double drop
escape explain extract fetch filter first following for hold if index insert interval json key last latest leading live localtimestamp materialized next nothing
nulls off only over partition position precision preceding primary qualify range read refresh rename replace require retention row rows scope show some substring table tables time
timestamp timestamptz to trailing trim unbounded unique update uuid varying view window within without write zone`.split(
    /\s+/,
  )

/** Every word of the grammar, in upper case, for completion. */
export const KEYWORDS: readonly string[] = [...RESERVED, ...OTHER_KEYWORDS].map((word) => word.toUpperCase()).sort()

/** The first words of statements that define. These have no parameters: in a row filter `:role` is a claim of the caller. */
export const DEFINING: ReadonlySet<string> = new Set(['create', 'alter', 'drop'])
