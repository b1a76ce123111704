/** docs/query.md: the guide to the query service over HTTP, with its tables of operators, limits and errors. */
import { environmentName, SETTINGS, type SettingName } from '../../src/config.ts'
import { SYSTEM_TABLES, type SystemTable } from '../../src/query/catalogue/system-tables.ts'
import { OPERATORS } from '../../src/query/criteria.ts'
import { QUERY_ERRORS } from '../../src/query/errors.ts'
import { typeName } from '../../src/query/iql/types.ts'
import { MEDIA_TYPES } from '../../src/query/result/negotiate.ts'
import { type GeneratedPage, NOTICE } from './page.ts'

const LIMITS: readonly SettingName[] = [
  'queryRows',
  'queryResultBytes',
  'queryStatementBytes',
  'queryBodyBytes',
  'querySeconds',
  'queryPerUser',
  'queryConcurrency',
  'queryWaiting',
]

/** What each operator does, by its first spelling. */
const MEANINGS: Readonly<Record<string, string>> = {
  '=': 'equal; with `null`, is null',
  '<>': 'not equal; with `null`, is not null',
  '<': 'less',
  '<=': 'less or equal',
  '>': 'greater',
  '>=': 'greater or equal',
  in: 'one of an array; of an empty one, none',
  'not in': 'none of an array',
  between: 'from the first to the second of an array of two, both included',
  'not between': 'outside of them',
  like: 'a pattern with `%` and `_`, minding case',
  'not like': 'the opposite',
  ilike: 'the same, not minding case',
  'not ilike': 'the opposite',
  contains: 'the text stands in it',
  startswith: 'it begins with the text',
  endswith: 'it ends with the text',
  'is null': 'there is no value',
  'is not null': 'there is one',
}

function meaningOf(operator: string): string {
  const meaning = MEANINGS[operator]
  if (meaning === undefined) throw new Error(`The page does not say what the operator ${operator} does`)
  return meaning
}

function systemTableRow([name, table]: [string, SystemTable]): string {
  const columns = table.columns.map(([column, type]) => `\`${column}\` ${typeName(type)}`).join(', ')
  const scope = table.readScope === undefined ? 'any `Platform/` scope' : `\`${table.readScope}\``
  return `| \`${name}\` | ${table.description} | ${scope} | ${columns} |`
}

export const page: GeneratedPage = {
  path: 'docs/query.md',
  render: () => `${NOTICE}

# The query service

Tables over HTTP: statements in [IQL](iql.md), and calls that need no language. Every call carries an access token,
\`Authorization: Bearer …\`, with a scope of the platform. A machine-readable description is at \`/openapi.json\`. In the
terminal, \`gatehouse query\`, \`import\` and \`export\` do the same (see [commands](commands.md)).

| call | does | needs |
|---|---|---|
| \`POST /query\` | runs one statement | what the statement touches |
| \`POST /Query/{table}/Select\` | reads rows by criteria | the table’s read scope, or any \`Platform/\` scope where it names none |
| \`POST /Query/{table}/Insert\` | adds rows, all of them or none | the table’s write scope, \`Platform/Admin\` where it names none |
| \`POST /Query/{table}/Update\` | changes rows by criteria | the same |
| \`POST /Query/{table}/Delete\` | removes rows by criteria | the same |
| \`DELETE /query/{Request-Id}\` | cancels a running query | to be its owner, or \`Platform/Admin\` |

Paths, and the names of tables and columns, match without case. A table that the caller may not read does not exist for
the caller, here as in IQL.

## Statements

\`\`\`
curl https://gate.example.com/query -H "Authorization: Bearer $TOKEN" -H 'Content-Type: text/plain; charset=utf-8' \\
  --data 'SELECT symbol, price FROM trades ORDER BY ts DESC LIMIT 2'
\`\`\`
\`\`\`json
{"Columns": {"symbol": {"Ordinal": 0, "Type": "Text", "Nullable": false},
             "price": {"Ordinal": 1, "Type": "Decimal(12, 4)", "Nullable": false}},
 "Rows": [{"symbol": "BHP", "price": "45.1000"}, {"symbol": "RIO", "price": "120.5000"}],
 "RowCount": 2, "RequestId": "7c9e…", "ElapsedMs": 3}
\`\`\`

Parameters \`:name\` and \`$1\` take their values from the address, \`?p.name=BHP&p.1=5\`, or from an envelope, sent as
\`application/json\`: \`{"Statement": "… WHERE symbol = :symbol", "Parameters": {"symbol": "BHP"}}\`.

## Calls on a table

\`\`\`
POST /Query/trades/Select?columns=symbol,price&orderby=-price,symbol&limit=50
[{"ColumnName": "price", "Operator": ">=", "Value": 40}, {"Or": [
  {"ColumnName": "symbol", "Operator": "=", "Value": "BHP"}, {"ColumnName": "note", "Operator": "is null"}]}]
\`\`\`

Criteria are an array whose members must all hold; \`{"Or": […]}\`, \`{"And": […]}\` and \`{"Not": {…}}\` nest. An empty body
takes every row. Columns are given as \`columns=a,b\` or repeated \`column=a\`; all of them when none is. \`orderby\` takes
names, with \`-\` before those that fall.

| operator | also | holds for |
|---|---|---|
${OPERATORS.map(({ names: [first = '', ...others] }) => `| \`${first}\` | ${others.map((name) => `\`${name}\``).join(' ')} | ${meaningOf(first)} |`).join('\n')}

| call | body |
|---|---|
| Insert | \`{"symbol": "BHP", "price": "45.10"}\`, or an array of such rows |
| Update | \`{"Criteria": […], "Assignments": {"price": "45.20"}}\` |
| Delete | an array of criteria, at least one |

They answer with \`RowsAffected\`, an Insert with the rows as well, defaults filled in. Values are read by the type of the
column, exactly: \`45.10\` and \`"45.10"\` are the same Decimal, and a number of JSON is never rounded on its way. What does
not fit is refused with the column, the value and the reason.

With \`Idempotency-Key\` an Insert, Update or Delete happens once: the same key and body again, within a day, gets the first
answer and changes nothing, though the table may have other columns by now; who may no longer write there is refused. The same
key with another body is refused.

Names of members mind no case, and none may stand in two spellings; of a member that is repeated in one spelling the last counts,
as it does in a Json value. A body nests at most 500 levels deep.

The table \`CatalogueTable\` defines tables in the same way, for \`Platform/Admin\`:
\`{"name": "Notes", "columns": [{"name": "id", "type": "Integer", "primarykey": true}, {"name": "body", "type": "Text"}]}\`;
deleting its row drops the table, and updating its \`readscope\`, \`writescope\`, \`rowfilter\` or \`description\` is
\`ALTER TABLE … SET\` in IQL. One statement defines or changes at most 1,000 tables. \`cataloguetables\` and
\`cataloguecolumns\` list what the caller may see.

## System tables

| table | shows | read with | columns |
|---|---|---|---|
${Object.entries(SYSTEM_TABLES).map(systemTableRow).join('\n')}

All but \`CatalogueTable\` are read-only, and none can be altered, dropped or indexed. A table of yours that had one of
these names before a release brought the system table keeps it, and the system table is not shown until yours is dropped.

## Formats

| \`Accept\` | is |
|---|---|
| \`${MEDIA_TYPES.json.split(';')[0]}\` | as above; the rows stream |
| \`${MEDIA_TYPES.ndjson.split(';')[0]}\` | one row a line |
| \`${MEDIA_TYPES.csv.split(';')[0]}\` | a header and a line for each row; an empty field is NULL, \`""\` is the empty text |
| \`${MEDIA_TYPES.arrow}\` | an Arrow stream |

\`?rows=arrays\` gives rows as arrays, \`?integers=strings\` gives integers as texts, for readers that hold 53 bits only. In JSON a
Decimal is a text, an Integer a number with all its digits, a Timestamp RFC 3339 in UTC, Binary Base-64, and NaN and the
infinities are texts. \`Accept-Encoding\` may ask for gzip, br or zstd.

An error after the first rows is told by every format: JSON ends with \`Error\` in place of \`RowCount\`, NDJSON with a line
\`{"Error": …}\`, and the connection is cut for CSV and Arrow.

## Pages

A JSON result ends at the row limit of the service, which it says with \`Truncated\`, or at the \`limit\` of the caller. Where rows
are left, \`NextCursor\` says where they begin: repeat the request with \`after=\` and the cursor. A Select goes on after the key of
the last row, so that rows that come and go meanwhile do not shift the pages; a statement is run again and the rows of earlier
pages are passed over. An \`offset\` counts for the first page alone.

## Running queries

\`Request-Id\` names a request; it is made up where it is left out, and comes back in the reply, in the log and in errors. A query
ends when its time is up, when it is cancelled, and when its client is gone: the process or the connection that worked on it is
then free. A slow reader slows its own query, nobody else’s.

On SQLite lookups by key and writes of single rows are done by the server itself, all else in processes that step behind it: they have a lower
priority, and on Linux 6.12 and later they give way the moment the server has something to do, for which they need \`chrt\` of
util-linux 2.41 or later, or \`perl\`. Without either all works the same, but beside queries that never rest a lookup in a hundred waits a few
milliseconds longer. [Decision 12](decisions/0012-queries-step-behind.md) says why.

## Limits

Those of the language are on the page of [IQL](iql.md). These are settings:

| setting | default | what |
|---|---|---|
${LIMITS.map((name) => `| \`${environmentName(name)}\` | ${SETTINGS[name].default} | ${SETTINGS[name].help} |`).join('\n')}

## Errors

Problem details (RFC 9457), \`application/problem+json\`. \`Code\` is stable; \`Position\`, \`Expected\` and \`Hint\` are there where they
help. The codes of statements, \`IQL.…\`, are on the page of [IQL](iql.md).

\`\`\`json
{"type": "urn:gatehouse:error:IQL.UnknownColumn", "title": "No such column", "status": 400,
 "detail": "There is no column pric", "Code": "IQL.UnknownColumn",
 "Position": {"Offset": 7, "Line": 1, "Column": 8}, "Hint": "did you mean price?", "RequestId": "7c9e…"}
\`\`\`

| code | status | what | what to do |
|---|---|---|---|
${Object.entries(QUERY_ERRORS)
  .map(([code, { status, title, advice }]) => `| \`${code}\` | ${status} | ${title} | ${advice} |`)
  .join('\n')}
`,
}
