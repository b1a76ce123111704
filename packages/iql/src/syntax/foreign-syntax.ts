/** Syntax of other SQL dialects that IQL does not have, with what to write instead. */

export interface ForeignSyntax {
  /** As messages name it. */
  readonly name: string
  /**
   * Tokens around the position of a syntax error. The error is reported at the word after `>`, and has been found there or at a
   * later token of the pattern. `_` is any token.
   */
  readonly patterns: readonly string[]
  readonly advice: string
}

const NUMBERED = 'write QUALIFY row_number() OVER (PARTITION BY key ORDER BY x) <= 3 before ORDER BY'
const UNION_OF_GROUPS = 'write a SELECT for each grouping, and combine them with UNION ALL'
const NO_REFERENCES = 'omit it: tables do not refer to each other; join them in queries'
const NO_LATERAL =
  'write ASOF JOIN for the closest row, a sub-query as a value, or a query in FROM with row_number() OVER (…)'

export const FOREIGN_SYNTAX: readonly ForeignSyntax[] = [
  entry('LIMIT … BY', ['limit _ > by'], NUMBERED),
  entry('TOP', ['select > top _'], 'write LIMIT 3 at the end'),
  entry('LIMIT with a comma', ['limit _ > ,'], 'write LIMIT 10 OFFSET 20'),
  entry('ORDER BY ALL', ['order by > all'], 'name the columns, or their numbers: ORDER BY 1, 2'),
  entry(
    'SAMPLE BY',
    ['> sample by _'],
    "write GROUP BY time_bucket('5 minutes', time), or time_bucket_gapfill for buckets without rows too",
  ),
  entry('ROLLUP', ['> with rollup'], UNION_OF_GROUPS),
  entry('CUBE', ['> with cube'], UNION_OF_GROUPS),
  entry('GROUPING SETS', ['> grouping sets'], UNION_OF_GROUPS),
  entry('PIVOT', ['> pivot _'], "write an aggregate for each column: sum(x) FILTER (WHERE key = 'A') AS a"),
  entry('UNPIVOT', ['> unpivot _'], 'write a SELECT for each column, and combine them with UNION ALL'),
  entry('LATERAL', ['> lateral ( _', '> lateral _ ('], NO_LATERAL),
  entry('APPLY', ['cross > apply', '> outer apply'], NO_LATERAL),
  entry('NATURAL JOIN', ['> natural join _ _'], 'write JOIN … USING (column)'),
  entry('MINUS', ['> minus select'], 'write EXCEPT'),
  entry('VALUES outside INSERT', ['> values ('], 'write SELECT 1 AS a, 2 AS b UNION ALL SELECT 3, 4'),
  entry('INTERVAL without quotes', ['> interval _'], "write INTERVAL '5 minutes'"),
  entry(
    'EXPLAIN with options',
    ['explain > ( analyze', 'explain > ( verbose', 'explain > ( format', 'explain > ( costs', 'explain > ( buffers'],
    'write EXPLAIN ANALYZE SELECT …',
  ),
  entry('INDEX without a name', ['index > on', 'exists > on'], 'give the index a name: CREATE INDEX name ON …'),
  entry('TEMP TABLE', ['create > temp _', 'create > temporary _'], 'write WITH name AS (SELECT …), or CREATE TABLE'),
  entry('* EXCLUDE', ['* > exclude _', '* > except ( _', '* > replace ('], 'name the columns'),
  entry('TABLESAMPLE', ['> tablesample _ ('], 'write WHERE id % 100 = 0'),
  entry('FOR UPDATE', ['> for update', '> for share'], 'omit it: nothing is locked'),
  entry('ANALYZE', ['> analyze', '> vacuum'], 'omit it; to measure, write EXPLAIN ANALYZE SELECT …'),
  entry('GRANT', ['> grant _', '> revoke _'], "write ALTER TABLE t SET READ SCOPE '…'; roles give users their scopes"),
  entry('TRUNCATE', ['> truncate _'], 'write DELETE FROM t ALL'),
  entry('MERGE', ['> merge into'], 'write INSERT INTO t … ON CONFLICT (key) DO UPDATE SET x = excluded.x'),
  entry('CHECK in ADD COLUMN', ['> check ('], 'write ALTER TABLE t ADD CHECK (…) after it'),
  entry('REFERENCES', ['> references _'], NO_REFERENCES),
  entry('FOREIGN KEY', ['> foreign key ( _'], NO_REFERENCES),
]

function entry(name: string, patterns: readonly string[], advice: string): ForeignSyntax {
  return { name, patterns, advice }
}

/** What the search needs to know of a token. */
interface Word {
  /** In lower case; empty for names in quotes, texts and numbers. */
  readonly key: string
  readonly at: number
}

/** The foreign syntax that causes an error at the token with the index, and the position to report; undefined if it is another error. */
export function findForeignSyntax(
  tokens: readonly Word[],
  index: number,
): (ForeignSyntax & { readonly at: number }) | undefined {
  for (const syntax of FOREIGN_SYNTAX) {
    for (const pattern of syntax.patterns) {
      const at = positionIn(pattern, tokens, index)
      if (at !== undefined) return { ...syntax, at }
    }
  }
  return undefined
}

function positionIn(pattern: string, tokens: readonly Word[], index: number): number | undefined {
  const marked = pattern.split(' ').indexOf('>')
  const keys = pattern.split(' ').filter((key) => key !== '>')
  for (let place = marked; place < keys.length; place++) {
    const start = index - place
    if (keys.every((key, offset) => matches(key, tokens[start + offset]))) return tokens[start + marked]?.at
  }
  return undefined
}

function matches(key: string, token: Word | undefined): boolean {
  return token !== undefined && (key === '_' || token.key === key)
}
