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

/** Words of the grammar that can also be names. */
const OTHER_KEYWORDS =
  `acr add age alter analyze any asc at check column columns comment conflict constraint create current date delete desc describe do drop
escape explain extract fetch filter first following if index insert interval json key last latest live localtimestamp next nothing
nulls off only over partition preceding primary qualify range read rename replace require row rows scope show some table tables time
timestamp to unbounded unique update uuid view window within write zone`.split(/\s+/)

/** Every word of the grammar, in upper case, for completion. */
export const KEYWORDS: readonly string[] = [...RESERVED, ...OTHER_KEYWORDS].map((word) => word.toUpperCase()).sort()

/** The first words of statements that define. These have no parameters: in a row filter `:role` is a claim of the caller. */
export const DEFINING: ReadonlySet<string> = new Set(['create', 'alter', 'drop'])
