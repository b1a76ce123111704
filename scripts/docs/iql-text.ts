/** The prose of docs/iql.md. */

export const INTRODUCTION = `# IQL

<!-- Generated from the source by \`npm run docs\`; edit the tables and comments there, not this page. -->

IQL is the query language of Gatehouse. It reads like SQL and means one thing: the same statement over the same rows gives
the same answer on SQLite and on PostgreSQL, to the byte.

One statement at a time, an optional \`;\`, comments as \`-- …\` and \`/* … */\`, keywords in any case, names in double
quotes where they are unusual, texts in single quotes with a quote inside written twice. Names match without case, and
results keep the spelling of the definition.

Values are best sent as parameters, \`:name\` or \`$1\`. A parameter takes the type of what stands beside it; where nothing
does, \`CAST(:name AS Type)\` gives it one.`

export const MEANING = `## What things mean

**Types never convert silently.** An Integer meets a Decimal as a Decimal, which is exact. Nothing becomes a Double, a Text
or a Boolean without \`CAST\`. Literals are read as what they stand beside: \`ts > '2026-01-31'\` reads a Timestamp,
\`ratio * 2\` beside a Double reads a Double. A Text is never read as a number.

**Numbers.** \`42\` is an Integer, \`4.2\` a Decimal, \`4e2\` a Double. Integers divide toward zero. Decimals are exact: each
operation has its scale, below. Dividing by zero, leaving the range of a type, and a Double that is too small to be told from
zero are errors.

**NULL** sorts last ascending and first descending, unless \`NULLS FIRST\` or \`NULLS LAST\` says otherwise. Where a sum, a
mean or a least value has no rows, it is NULL; \`count\` is 0.

**Text** compares by code point, without any language's rules. \`LIKE\` looks at case, \`ILIKE\` does not; \`%\` stands for any
characters and \`_\` for one; nothing escapes them unless \`ESCAPE\` names a character.

**Time** is UTC, to the microsecond. A day has 24 hours. Adding a month keeps the day, or takes the last day of a shorter
month. Intervals without months can be compared.

**Names.** A column may be written alone where only one table has it. \`GROUP BY\` and \`ORDER BY\` may name an output or its
number; in \`GROUP BY\` a column of the tables comes before an output of the same name, in \`ORDER BY\` after it. Two columns
of a result cannot have one name: the error asks for an alias. An expression without an alias is called after its function,
or \`column1\`, \`column2\` by its place.

**Groups.** With \`GROUP BY\`, or an aggregate, an output is made of what is grouped by and of aggregates; there are no bare
columns. Aggregates do not stand in \`WHERE\`, window functions stand in \`SELECT\` and \`ORDER BY\` alone.

**\`ASOF JOIN\`** gives each row of the left the one row of the right that is nearest: its condition is any number of
equalities and exactly one of \`>=\`, \`>\`, \`<=\`, \`<\`. Of equally near rows the first by the primary key counts, or by all
columns where there is none. \`ASOF LEFT JOIN\` keeps left rows that have no such row.

**Errors of values**, such as a division by zero, come up where the value is needed. A part of a condition that cannot change
its outcome, or a column of a sub-query that nobody reads, may or may not be worked out; guard with \`CASE\` or \`NULLIF\`.

**Order.** Without \`ORDER BY\` the rows of a result come in no order that can be relied on, and the same holds for the rows of
\`RETURNING\`: only an INSERT of VALUES returns them as they were given.

**Keys** are those of the table, not of the caller: the key of a row that a filter hides from you is taken, and a write that
meets it is refused, or passes over it with \`ON CONFLICT\`; nothing else is told of that row. Where even that must not be told,
let keys be Uuids. An INSERT with \`DO UPDATE\` that meets a row which it has written itself is an error, whatever its \`WHERE\`
says. An UPDATE checks keys row by row, in the order in which the rows lie in the database: where rows take over the keys of one
another, as in \`SET id = id + 1\`, it may be refused or not; move them out of the way first.

**Rights.** A table that you may not read does not exist for you. A table may carry a \`ROW FILTER\` over its columns and the
claims \`:sub\`, \`:client_id\` and \`:role\` of the caller (\`desk = :role\` holds when it is any of the caller’s roles); rows
for which it does not hold do not exist either, and cannot be written. \`ALTER TABLE trades SET READ SCOPE
'Platform/Trading' ROW FILTER NULL\` changes scopes, filter and comment, and \`NULL\` takes one away; it holds for the next
statement of everybody, on every node, and is in the audit log.`
