/** The prose of docs/iql.md. */

export const INTRODUCTION = `# IQL

<!-- Generated from the source by \`npm run docs\`; edit the tables and comments there, not this page. -->

IQL is the query language of Gatehouse. It is a dialect of SQL with one meaning on every engine: the same statement over the
same rows returns the same result on SQLite and on PostgreSQL, byte for byte.

A request contains one statement, with an optional \`;\` at the end. Comments are \`-- …\` and \`/* … */\`. Keywords are
case-insensitive. Texts are written in single quotes, with a quote inside doubled; unusual names are written in double quotes.
Names are case-insensitive, and results use the spelling of the definition.

Values are best sent as parameters, \`:name\` or \`$1\`. A parameter takes its type from the context, such as the column it is
compared with. Where the context does not determine a type, write \`CAST(:name AS Type)\`. A parameter that is used several times has the
type of its first use.`

export const MEANING = `## Semantics

**Types never convert implicitly**, except numbers: an Integer combined with a Decimal becomes a Decimal, which is exact, and either
of them combined with a Double becomes the nearest Double, in arithmetic (\`count(*) * 0.5e0\`), comparisons, \`CASE\` and set
operations. Functions that take a Double, and columns, need a \`CAST\`. Nothing becomes a Text or a Boolean without one. A literal
is parsed as the type of the other operand: in \`executed_at > '2026-01-31'\` it is a Timestamp, and in \`ratio * 2\` with a Double
\`ratio\` it is a Double. A Text is never parsed as a number.

**Numbers.** \`42\` is an Integer, \`4.2\` a Decimal, \`4e2\` a Double. Integer division truncates toward zero. Decimals are exact;
the scale of each operation is listed below. Division by zero, a result out of the range of its type, and a Double too small to
differ from zero are errors.

**NULL** sorts last ascending and first descending, unless \`NULLS FIRST\` or \`NULLS LAST\` is given. Aggregates over no rows are
NULL, except \`count\`, which is 0.

**Text** is compared by code point, without the rules of any language. \`LIKE\` is case-sensitive, \`ILIKE\` is not. \`%\` matches
any characters and \`_\` exactly one. There is no escape character unless \`ESCAPE\` names one; in a statement over
[PostgreSQL's protocol](wire-statements.md#protocol) it is the backslash then.

**Time** is UTC with microseconds; see [time zones](#time-zones). A day has 24 hours. Adding a month keeps the day of the month, or takes the last day of a
shorter month. Intervals without months can be compared.

**Names.** A column name needs no table if only one table has such a column. \`GROUP BY\` and \`ORDER BY\` accept the name or the
number of an output. If a column of a table and an output have the same name, \`GROUP BY\` takes the column and \`ORDER BY\` the
output. Inside an expression of \`ORDER BY\`, as in \`ORDER BY abs(change)\`, the column has precedence too; after \`DISTINCT\` and set
operations only the outputs themselves can be ordered by: write \`SELECT * FROM (…) AS r ORDER BY abs(change)\`. Two columns of a result cannot
have the same name: write \`SELECT count(*), count(qty) AS sold\`. Through [the wire port](wire.md) they can, because its clients read
columns by their position. An output without an alias is named after its function, or \`column1\`, \`column2\` and so on, by its position.

**\`JOIN … USING (symbol)\`** joins rows whose columns of that name are equal. The name alone then refers to both of them, \`*\` gives the
column once, and \`t.symbol\` refers to that of one table. In \`ASOF JOIN … USING (symbol, at)\` the last column is compared with \`>=\`.

**\`DISTINCT ON (key, …)\`** keeps the first row of each key in the order of \`ORDER BY\`; ties are broken by the outputs.
\`LATEST ON\` is faster where there is an index. **\`QUALIFY condition\`** filters by window functions, as \`HAVING\` does by aggregates:
\`QUALIFY row_number() OVER (PARTITION BY symbol ORDER BY price DESC) <= 3\`. Both can use the names of outputs.

**Groups.** \`GROUP BY ALL\` groups by every output that has no aggregate. With \`GROUP BY\` or an aggregate, outputs consist of grouping expressions and aggregates; other columns are not
allowed. Aggregates are not allowed in \`WHERE\`. Window functions are only allowed in \`SELECT\`, \`QUALIFY\`, \`DISTINCT ON\` and \`ORDER BY\`.

**\`ASOF JOIN\`** joins each row of the left side with the one closest row of the right side. Its condition is any number of
equalities and exactly one of \`>=\`, \`>\`, \`<=\`, \`<\`. Ties are broken by the primary key or, without one, by all columns.
\`ASOF LEFT JOIN\` keeps left rows without a match. With an index or a primary key on the right side that begins with the columns of the
equalities, followed by the compared one, such as \`(symbol, quoted_at)\`, one entry is read for each left row. Without one, or with a row
filter or a sub-query on the right side, both sides are sorted together once. EXPLAIN says which, and names the index that is missing.

**\`LATEST ON time PARTITION BY key\`** keeps the last row of each key among the rows that \`WHERE\` keeps; filter the last rows
themselves in an outer query. \`FROM\` is one table or sub-query. Rows whose time is NULL are left out, and ties are broken by the
greatest primary key or, without one, by all columns. With an index or a primary key that begins with the key and the time, such
as \`(symbol, executed_at)\`, only one entry of each key is read; EXPLAIN says so. The columns of the key must then be NOT NULL, and
the table without a row filter.

**Gaps.** \`FROM generate_series(start, stop, step) AS name\` gives a grid, to which the rows are joined with \`LEFT JOIN\`; \`locf\` and
\`interpolate\` fill what is missing. For several symbols, join the grid with the symbols first (\`CROSS JOIN\`), and write
\`PARTITION BY symbol\` in the window. \`GROUP BY time_bucket_gapfill(width, time, start, end)\`
does all this in one step. A sub-query among its outputs cannot use its columns: select the buckets in a WITH query, and write the
sub-query in a select from it.

**Run-time errors**, such as a division by zero, are raised when a value is evaluated. Columns have values in rows only:
\`WHERE id = 0 AND 10 / id > 1\` is an error only if there is a row with the id 0. \`CASE\`, \`COALESCE\` and \`OR\` evaluate from left
to right, and only what a row needs. Conditions joined by \`AND\` can be evaluated in any order; of those on one table, what cannot fail,
such as a comparison of columns, comes before arithmetic on whole numbers and Doubles, and before casts. An expression without columns,
or a column of a sub-query that is not used, may be evaluated even if no row needs it. Guard what can fail with \`CASE\` or \`NULLIF\`.

**Order.** Without \`ORDER BY\` the order of rows is undefined. The same is true for the rows of \`RETURNING\`, except that an
INSERT with VALUES returns them in the order given.

**Keys** belong to the table, not to the caller: a key is taken even if a row filter hides its row from you. A write that
conflicts with such a row is refused, or skips it with \`ON CONFLICT\`; nothing else about the row is revealed. If even its
existence must stay secret, use Uuids as keys. An INSERT with \`DO UPDATE\` that conflicts with a row it has written itself is an
error, regardless of its \`WHERE\`. An UPDATE checks keys row by row, in the physical order of the rows: a statement such as
\`SET id = id + 1\`, in which rows take over each other’s keys, may or may not be refused; move the rows out of the way first.

**Checks and defaults.** \`CHECK (price > 0)\`, after a column or on its own, refuses every row for which it is false
(\`Data.CheckViolation\`); NULL passes. It uses columns of the row only. \`CONSTRAINT name\` before it names it; without a name it is
called after its column (\`price_check\`) or its table. \`ALTER TABLE trades ADD CHECK (…)\` first reads the existing rows, and
\`ALTER TABLE trades DROP CONSTRAINT name\` removes it. A default can be the \`:username\`, \`:sub\` or \`:client\` of who writes
the row: \`created_by Text NOT NULL DEFAULT :username\`.

**\`CREATE TABLE daily [(PRIMARY KEY (…))] AS SELECT …\`** creates a table with the columns and the rows of a query, and none if the
query fails. Others can see the table while it is being filled. It has the rights that the statement names, not those of the tables
that the query reads. If not everyone may read one of these, name them: \`CREATE TABLE mine READ SCOPE 'Platform/Trading' AS SELECT …\`.

**Rights.** You cannot see a table that you are not allowed to read: statements say that there is no such table. With \`Platform/Admin\`, the right that defining tables requires, you can see and change
the definition of every table; its rows still need the read scope. A table can have a \`ROW FILTER\` over its columns and the
caller’s \`:sub\`, \`:username\`, \`:client\` and \`:roles\` (\`desk = :roles\` is true if \`desk\` is any of the caller’s roles;
\`:role\` is the same; [all of them](configuration.md#tables)), and the caller’s
[attributes](attributes.md#row-filters), as in \`desk = :attribute.desk\`. The caller
can neither see nor write rows for which it is not true. \`ALTER TABLE trades SET READ SCOPE
'Platform/Trading' ROW FILTER NULL\` changes scopes, row filter and comment; \`NULL\` removes one. The change applies to every
later statement on every node, and is recorded in the audit log. \`REQUIRE (acr = 2, age = 300)\` demands two factors
and a sign-in of the last five minutes of readers, \`WRITE REQUIRE (…)\` of writers: see [step-up](step-up.md).

**Views.** \`CREATE VIEW\` gives a query a name, under which it is read like a table:

\`\`\`sql
CREATE VIEW turnover (symbol, day, amount) READ SCOPE 'Platform/Trading' COMMENT 'What was paid, by day'
AS SELECT symbol, CAST(executed_at AS Date), sum(price * quantity) FROM trades GROUP BY 1, 2
\`\`\`

It runs with the rights of the caller: the scopes and row filters of the tables apply as if the caller had written the query, and the read
scope of the view is needed as well. A view over a table that you are not allowed to read does not exist for you; with \`Platform/Admin\` you see
only its definition. A view stores no rows: it cannot be written or indexed. It has no parameters and no row filter. It can read other
views. Its columns stay as they are when a table gets more columns, even with \`*\`. \`CREATE OR REPLACE VIEW\` gives it another query,
and keeps its scope and comment unless the statement names others; \`ALTER VIEW turnover SET READ SCOPE NULL COMMENT 'By day'\` changes
these, and \`DROP VIEW\` removes the view. What a view uses cannot be dropped or changed so that the view would fail or have other
columns: the error \`Data.InUse\` names the views. A view that only renames, computes and filters the rows of one table, or of another
such view, is as fast as the table: a query by its key or an index uses these, and a live query reads only the rows that have changed.
The limits of a statement count the query of each view as often as the view is used. Like tables, views are defined with
\`Platform/Admin\`; \`cataloguetables\` shows their texts.

**Materialized views.** \`CREATE MATERIALIZED VIEW\` stores the rows of a query with \`GROUP BY\` or \`LATEST ON\`, and brings them up to date after
each commit: see [materialized views](views.md).

**Definitions.** \`DESCRIBE trades\`, or \`SHOW COLUMNS FROM trades\`, lists the columns of a table: type, whether NULL is allowed, key, default
and the CHECK constraints that each column is part of. \`SHOW TABLES\` lists the tables that you may read, and what each demands of the
sign-in of readers (\`require\`) and writers (\`writerequire\`).

**Plans.** \`EXPLAIN\` describes how a statement would run. \`EXPLAIN ANALYZE SELECT …\` runs the query too, drops its rows, and says how
many there were, how many bytes, and how long the first and all of them took. On PostgreSQL it also lists the steps of the database's own
plan, with the rows and the time of each; a step includes those below it. To measure the steps, the query runs a second time, within the
same time limit: the statement takes about twice as long as the query. There are no steps for system tables and tables with a row
filter, since they would tell how many rows are hidden.

**Live queries.** \`EXPLAIN LIVE select …\` says how the result of a query is kept up to date for subscribers: the \`method\`, the
\`key\` that identifies its rows (\`[]\` for a result of one row, NULL if rows have no key of their own) and the \`reason\`.

| method | for | how |
|---|---|---|
| \`keys\` | one table with a primary key, or a view or query in FROM that only renames, computes and filters its rows, without \`ORDER BY\`, sub-queries and window functions | only rows whose keys have changed are read again |
| \`rerun\` | every other query | the query runs again when a table that it reads has changed |
| \`clock\` | queries that use \`now()\` or \`current_date\` | the query runs again every second |
| \`refused\` | queries without a table, with \`gen_uuid()\`, or with \`LIMIT\` or \`OFFSET\` but no \`ORDER BY\` | the reason says what to do |

The key is the primary key of the one table in \`FROM\`, or the values of \`GROUP BY\`, whether they are selected or not. Joins, set
operations, \`DISTINCT\` and other queries in \`FROM\` have none. Rows that tie in \`ORDER BY\` are ordered by their keys.

Queries that differ only in the values that columns are compared with, as in \`symbol = :s\`, share one read of the changed rows,
however many subscribers there are. They do not if an output or another condition can fail, as a division can.

Every change of a table is logged for this, by its primary key. \`CREATE TABLE … WITH (live = off)\` and \`ALTER TABLE … SET WITH
(live = off)\` save that work for a table that is written often and rarely watched: live queries on it then run again in full.

### Time zones

A Timestamp is an instant. It is stored, compared and returned in UTC, and no column has a time zone. A literal or a value may have an
offset, which is converted: \`TIMESTAMP '2026-01-31T09:30:00+02:00'\` is 07:30 UTC. Without an offset it is UTC.

\`x AT TIME ZONE 'America/New_York'\` is what the clocks there read: a \`LocalTimestamp\`, written without \`Z\`. The same operator converts
it back to a Timestamp. A reading that the clocks skip in spring takes the offset before, and one that they repeat in autumn the offset
after, as in PostgreSQL. A zone is a literal or a parameter: a name of [IANA's database](https://www.iana.org/time-zones), in any case. The
data from 1900 to 2100 are part of Gatehouse, so that every engine and every machine has the same; \`gatehouse --version\` names their
version. Outside these years a zone has its standard time.

**Mind an idiom of PostgreSQL**: there \`timestamp '2026-11-02 09:30' AT TIME ZONE 'America/New_York'\` is the instant at which New York's
clocks read 9:30, 14:30 UTC. Here a \`timestamp\` literal is in UTC already, and the expression is what those clocks read at that instant: the local
time 04:30. Beside a Timestamp it is refused, with a hint; alone, as in a list of outputs, it is not. For the instant write
\`LOCALTIMESTAMP '2026-11-02 09:30' AT TIME ZONE 'America/New_York'\`, or with \`timestamp without time zone\` before the text, which PostgreSQL takes too.

A LocalTimestamp can be compared, sorted, grouped, cast to Date, Time and Text, and moved by intervals; \`date_trunc\`, \`date_part\`,
\`date_diff\`, \`time_bucket\`, \`generate_series\`, \`min\`, \`max\` and windows take it. It is no type of a column: store the Timestamp. As a literal
it is \`LOCALTIMESTAMP '2026-07-01T09:30:00'\`, and as text beside another one it needs no word before it.

With a zone as their last argument, \`time_bucket\`, \`time_bucket_gapfill\`, \`date_trunc\`, \`date_part\` and \`generate_series\` follow the clocks of
that zone, and return Timestamps:

- Buckets of days, weeks and months begin at the first instant of a local date. Days and weeks are counted from Monday 2000-01-03,
  months from January 2000. A day can have 23 or 25 hours.
- Shorter buckets begin where the clock reads a multiple of the width since midnight, or skips one. An hour that is repeated is therefore
  two buckets, and no bucket begins after its rows.
- A step of \`generate_series\` of whole days or months keeps the local time of day.

New York's trading day is from 9:30 to 16:00 by the clocks there, which is 13:30 to 20:00 UTC in summer and an hour later in winter:

\`\`\`sql
SELECT CAST(executed_at AT TIME ZONE 'America/New_York' AS Date) AS day, vwap(price, quantity) AS vwap
FROM trades
WHERE CAST(executed_at AT TIME ZONE 'America/New_York' AS Time) >= '09:30'
  AND CAST(executed_at AT TIME ZONE 'America/New_York' AS Time) < '16:00'
GROUP BY day
\`\`\`

A condition on the local time reads every row. For a few days of a large table, give the instants instead, which an index finds:
\`executed_at >= LOCALTIMESTAMP '2026-07-01T09:30:00' AT TIME ZONE 'America/New_York'\`.

Times in CSV files without an offset are taken as UTC. The console shows Timestamps in the time zone of the browser, with UTC beside it,
and LocalTimestamps as they are.`
