/** The words that cannot be names without quotes or AS. */
export const RESERVED: ReadonlySet<string> = new Set(
  `all analyse analyze and any array as asc asymmetric both case cast check collate constraint create default deferrable desc
   distinct do else end except fetch for foreign from grant group having in initially intersect into lateral leading limit not
   null offset on only or order placing primary references returning select some symmetric table then to trailing union unique
   using variadic when where window with false true
   natural join inner left right full cross is isnull notnull like ilike similar overlaps tablesample`.split(/\s+/),
)

/** Functions that are called without parentheses. */
export const BARE_FUNCTIONS: ReadonlySet<string> = new Set([
  'current_user',
  'session_user',
  'user',
  'current_role',
  'current_catalog',
  'current_schema',
  'current_date',
  'current_timestamp',
  'localtimestamp',
])
