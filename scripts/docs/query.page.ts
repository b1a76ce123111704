/** docs/query.md: the guide to the query service over HTTP, with generated tables of operators, limits and errors. */

import { typeName } from 'gatehouse-iql'
import { environmentName, SETTINGS, type SettingName } from '../../packages/server/src/config/config.ts'
import { EVENT_STREAM } from '../../packages/server/src/http/events/event-response.ts'
import { SYSTEM_TABLES, type SystemTable } from '../../packages/server/src/query/catalogue/system-tables.ts'
import { DEFAULT_RESPONSE_LIMITS } from '../../packages/server/src/query/engines/idempotency-cleanup.ts'
import { QUERY_ERRORS } from '../../packages/server/src/query/errors.ts'
import { OPERATORS } from '../../packages/server/src/query/http/criteria.ts'
import { MEDIA_TYPES } from '../../packages/server/src/query/http/request.ts'
import { DEFAULT_RATE, MAX_RATE, MIN_RATE } from '../../packages/server/src/query/live/contract.ts'
import { type GeneratedPage, NOTICE } from './page.ts'

const { keysPerOwner, keys, bytesPerOwner, bytes } = DEFAULT_RESPONSE_LIMITS
const thousands = (count: number): string => count.toLocaleString('en')

const LIMITS: readonly SettingName[] = [
  'queryRows',
  'queryResultBytes',
  'queryStatementBytes',
  'queryBodyBytes',
  'queryImportBytes',
  'querySeconds',
  'queryExportSeconds',
  'queryPerUser',
  'queryConcurrency',
  'queryWaiting',
  'queryStall',
  'querySendQueueBytes',
  'queryWriteWait',
]

/** The meaning of each operator, by its first spelling. */
const MEANINGS: Readonly<Record<string, string>> = {
  '=': 'equal; with `null`, is null',
  '<>': 'not equal; with `null`, is not null',
  '<': 'less than',
  '<=': 'less than or equal',
  '>': 'greater than',
  '>=': 'greater than or equal',
  in: 'equal to an item of an array; never true for an empty array',
  'not in': 'not equal to any item of an array',
  between: 'between the two items of an array, inclusive',
  'not between': 'not between them',
  like: 'matches a pattern with `%` and `_`, case-sensitive',
  'not like': 'does not match',
  ilike: 'matches a pattern, case-insensitive',
  'not ilike': 'does not match',
  contains: 'contains the text',
  startswith: 'starts with the text',
  endswith: 'ends with the text',
  'is null': 'has no value',
  'is not null': 'has a value',
}

function requireMeaning(operator: string): string {
  const meaning = MEANINGS[operator]
  if (meaning === undefined) throw new Error(`The meaning of the operator ${operator} is not described`)
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

The query service offers tables over HTTP: statements in [IQL](iql.md), and calls on a table that need no query language. Every
request carries an access token with a scope of the platform, \`Authorization: Bearer …\`. \`/openapi.json\` describes the
service for machines. In the terminal, use \`gatehouse query\`, \`import\` and \`export\` (see [commands](commands.md)).
Pages of registered origins may call it too: see [browser pages](clients.md#browser-pages). Statements can be saved and shared:
see [saved queries and boards](console-documents.md).

| call | does | needs |
|---|---|---|
| \`POST /query\` | runs one statement | the scopes of the tables that the statement uses |
| \`POST /Query/{table}/Select\` | reads rows by criteria | the table’s read scope, or any \`Platform/\` scope if it has none |
| \`POST /Query/{table}/Insert\` | inserts rows, all or none | the table’s write scope, or \`Platform/Admin\` if it has none |
| \`POST /Query/{table}/Update\` | updates rows by criteria | the same |
| \`POST /Query/{table}/Delete\` | deletes rows by criteria | the same |
| \`GET\` or \`POST /query\` with \`Accept: ${EVENT_STREAM}\` | [keeps the result of a statement up to date](#live-statements) | the scopes of the tables that the statement uses |
| \`DELETE /query/{Request-Id}\` | cancels a running query or ends a live statement | ownership of the query, or \`Platform/Admin\` |
| \`GET /catalogue/…\` | [tables page by page, one table in full, the words of IQL](#the-catalogue) | any \`Platform/\` scope |

Paths and the names of tables and columns are case-insensitive. A table that the caller is not allowed to read does not exist for the
caller, here as in IQL. A caller with \`Platform/Admin\` sees its definition and can change it; reading or writing its rows is refused
with the missing scope.

## Statements

\`\`\`
curl https://gate.example.com/query -H "Authorization: Bearer $TOKEN" -H 'Content-Type: text/plain; charset=utf-8' \\
  --data 'SELECT symbol, price FROM trades ORDER BY executed_at DESC LIMIT 2'
\`\`\`
\`\`\`json
{"Columns": {"symbol": {"Ordinal": 0, "Type": "Text", "Nullable": false},
             "price": {"Ordinal": 1, "Type": "Decimal(18, 4)", "Nullable": false}},
 "Rows": [{"symbol": "ACME", "price": "101.2500"}, {"symbol": "BOLT", "price": "48.1000"}],
 "RowCount": 2, "RequestId": "7c9e…", "ElapsedMs": 3}
\`\`\`

The values of the parameters \`:name\` and \`$1\` are sent in the query string, \`?p.name=ACME&p.1=5\`, or in a body of type
\`application/json\`: \`{"Statement": "… WHERE symbol = :symbol", "Parameters": {"symbol": "ACME"}}\`.

## Live statements

\`\`\`
curl -N https://gate.example.com/query -H "Authorization: Bearer $TOKEN" -H 'Accept: ${EVENT_STREAM}' \\
  -H 'Content-Type: application/json' \\
  --data '{"Statement": "SELECT symbol, price FROM trades WHERE symbol = :s", "Parameters": {"s": "ACME"}, "MaxRate": 5}'
\`\`\`
\`\`\`
event: snapshot
id: kJ0…
data: {"Kind":"Snapshot","Method":"keys","Key":["id"],"Columns":{…},"Put":[{"Key":[1],"Row":{"symbol":"ACME","price":"101.2500"}}],"More":false,"Position":"kJ0…"}

event: change
id: kJ4…
data: {"Kind":"Change","Put":[{"Key":[9],"Row":{"symbol":"ACME","price":"101.3100"}}],"Remove":[[4]],"Position":"kJ4…"}
\`\`\`

The reply begins with the result and continues with its changes, as server-sent events. \`event\` is the kind of the message in lower
case, \`data\` is the object that a [stream](streaming.md#live-statements) carries, and \`id\` is its position.

- \`GET /query?statement=…&p.s=ACME\` does the same, for libraries like the browser’s \`EventSource\`. Choose one that can set headers,
  because the request needs an access token.
- \`maxrate\`, or \`MaxRate\` in the body, is the maximum number of changes per second, from ${MIN_RATE} to ${MAX_RATE}; ${DEFAULT_RATE} by default.
- \`Last-Event-ID\`, which \`EventSource\` sends by itself, resumes at a position: the first event is then a \`change\` with what was
  missed, or a \`reset\` and a new snapshot. A \`reset\` clears the id.
- \`rows=arrays\` and \`integers=strings\` apply to rows and keys. A comment line is sent every 15 seconds.
- The end of the token, the loss of rights, \`DELETE /query/{Request-Id}\` and the end of the statement end the reply with \`event: end\`;
  its \`data\` is the problem document. A node that stops adds \`retry\`. A statement that is refused gets an ordinary error reply.
- A client that reads slowly skips states. If it reads nothing for a minute, its connection is closed.

## Calls on a table

Their bodies are JSON, with the content type \`application/json\` or none.

\`\`\`
POST /Query/trades/Select?columns=symbol,price&orderby=-price,symbol&limit=50
[{"ColumnName": "price", "Operator": ">=", "Value": 40}, {"Or": [
  {"ColumnName": "symbol", "Operator": "=", "Value": "ACME"}, {"ColumnName": "venue", "Operator": "is null"}]}]
\`\`\`

Criteria are an array of conditions that must all be true. \`{"Or": […]}\`, \`{"And": […]}\` and \`{"Not": {…}}\` can be nested.
An empty body selects every row. Columns are listed as \`columns=a,b\` or as repeated \`column=a\`; the default is all columns.
\`orderby\` lists column names, with a leading \`-\` for descending order.

| operator | also | meaning |
|---|---|---|
${OPERATORS.map(({ names: [first = '', ...others] }) => `| \`${first}\` | ${others.map((name) => `\`${name}\``).join(' ')} | ${requireMeaning(first)} |`).join('\n')}

| call | body |
|---|---|
| Insert | \`{"id": 9, "symbol": "ACME", "price": "101.25", …}\`, or an array of rows |
| Update | \`{"Criteria": […], "Assignments": {"price": "101.30"}}\` |
| Delete | an array of criteria, at least one |

An Update or Delete is refused if its criteria contain an empty list: \`[]\`, an empty \`And\` or \`Or\` at any depth, \`not in []\`, or
\`in []\` inside \`Not\`. To write to every row, use IQL with the keyword \`ALL\`. A request has at most 1,000 criteria with 10,000
values in all. An Insert has at most 100,000 values, and its rows at most 50 different sets of columns. If a value, a column or a row of an
array is wrong, \`Row\` in the error says which, counted from 1. A number in a
body has at most 1,000 characters.

The result contains \`RowsAffected\` and, for an Insert, the inserted rows with their defaults. Values are read exactly, by the type of
the column: \`45.10\` and \`"45.10"\` are the same Decimal, and a JSON number is never rounded. A value that does not fit is
refused with the column, the value and the reason.

### Bulk inserts

An Insert also takes whole files. The rows are read by columns as they arrive, checked, kept in a file of the data folder, and then inserted in
one transaction: all or none. A slow sender holds nobody up. The reply has \`RowsAffected\` and no rows.

| Content-Type | body |
|---|---|
| \`text/csv\` | [RFC 4180](https://www.rfc-editor.org/rfc/rfc4180), UTF-8. The first line names the columns; with \`text/csv; header=absent\` the parameter \`columns\` does. An empty field is NULL, \`""\` is an empty text |
| \`application/x-ndjson\` | an object in each line. The first line names the columns, unless \`columns\` does; a member that a later line lacks is NULL |
| \`application/vnd.apache.arrow.stream\` or \`….file\` | an Arrow stream, or an Arrow file (Feather 2), without compression, whose record batches have at most 64 MiB; dictionaries of texts are read too |
| \`application/vnd.apache.parquet\` | a Parquet file: [what is read](#parquet) |

| parameter | meaning |
|---|---|
| \`duplicates\` | what happens to a row whose key is taken, in the table or by an earlier row of the body. \`reject\` (default): nothing is inserted. \`skip\`: the row is left out; the reply has \`Skipped\`, and in \`SkippedRows\` the numbers of the first 100,000 such rows, counted from 1, if the body has the primary key. \`replace\`: the given columns of the row with this primary key take the new values; the reply has \`Replaced\`, which \`RowsAffected\` includes |
| \`nulls\` | \`keep\` (default): NULL is stored, but in a column that must have a value it means the default. \`default\`: it means the default of every column that has one |
| \`columns\` | names for the columns of the body, separated by commas |
| \`timezone\` | the zone of times that name none, such as \`America/New_York\`; the default is UTC |
| \`dryrun\` | \`true\`: the rows are read and checked, and none is inserted. \`RowsAffected\` counts them, and \`Columns\` has their columns |
| \`delimiter\`, \`null\` | for CSV: \`comma\`, \`semicolon\`, \`tab\` or \`bar\`; a text that means NULL where it is not quoted, repeatable |

\`\`\`bash
curl -H "Authorization: Bearer $TOKEN" -H 'Content-Type: text/csv' -H 'Idempotency-Key: trades-2026-01-30' \\
  --data-binary @trades.csv 'http://localhost:5080/Query/trades/Insert?duplicates=skip'
\`\`\`

A value that does not fit is refused with \`Line\` or \`Row\`, \`Column\` and \`Value\`. Values are read as IQL writes them: a CSV with
decimal commas or other dates is imported by [\`gatehouse import\`](commands.md#import) or the console, which convert
them. A body has at most \`query_import_bytes\`; a user may send eight at once. Sending and inserting take at most
\`query_export_seconds\`, and a pause of the sender at most a minute. On SQLite other writes wait while the rows are inserted, and a bulk
insert that others have waited for longer than \`query_write_wait\` is stopped. Send a large file in parts, as \`gatehouse import\` does.

With an \`Idempotency-Key\`, an Insert, Update or Delete is made only once, and so is an \`INSERT\`, \`UPDATE\` or \`DELETE\` that is sent
to \`/query\`. A retry within a day with the same key and body, and for a statement the same parameters, returns the first response
and changes nothing, even if the columns of the table have changed since; it is refused if the caller may no longer write to the
table. The same key with another body is refused. Statements that read or define tables do not use the key: a
repeated definition is refused anyway. The response is stored with the write, so its rows are
cut off at 24 MiB, which \`Truncated\` indicates; without a key, at 64 MiB.

Stored responses are bounded. Of one caller ${thousands(keysPerOwner)} keys are kept and ${bytesPerOwner / 2 ** 20} MiB of responses of more than 4 KiB, of all callers together
${thousands(keys)} and ${bytes / 2 ** 20} MiB. When a caller stores more, that caller's oldest responses are dropped. A long response loses its rows
first: a retry then still changes nothing and gets \`RowsAffected\`, with no \`Rows\` and \`"Truncated": true\`. In a format that cannot
say so, such as CSV, it is refused with \`Limit.Bytes\`. Above the maximum number of keys, the oldest keys are forgotten, and a retry with one of them is a new request.

Member names are case-insensitive, and a body cannot contain the same member in two spellings. If a member is repeated in the
same spelling, the last one counts, as it does in a Json value. A body can nest up to 500 levels deep.

With \`Platform/Admin\`, rows of the table \`CatalogueTable\` define tables:
\`{"name": "Notes", "columns": [{"name": "id", "type": "Integer", "primarykey": true}, {"name": "body", "type": "Text"}]}\`
creates one. Deleting the row drops the table, and updating its \`readscope\`, \`writescope\`, \`rowfilter\`, \`live\` or \`description\`
does the same as \`ALTER TABLE … SET\` in IQL. One statement can define or change up to 1,000 tables. \`cataloguetables\` and
\`cataloguecolumns\` list the tables and columns that the caller may see. [Views](iql.md#semantics) are in these too (\`isview\`, and their
text in \`view\`), but not in \`CatalogueTable\`: they are defined in IQL. A view is read by Select like a table; Insert, Update and
Delete are refused with \`IQL.NotWritable\`.

## System tables

| table | content | read scope | columns |
|---|---|---|---|
${[...SYSTEM_TABLES].map(systemTableRow).join('\n')}

All of them except \`CatalogueTable\` are read-only, and none can be altered, dropped or indexed. If you already had a table with the name of a system table that a release introduced, your table
keeps the name; the system table becomes visible when you drop yours.

## The catalogue

Editors and table lists read only the parts of the catalogue that they show:

| call | |
|---|---|
| \`GET /catalogue/tables?prefix=tr&limit=50\` | the tables that the caller may read, or define, whose names begin with \`tr\`: \`{"items": […], "next": path or null}\`, ordered by name without regard to case; \`system=false\` leaves out the system tables, \`system=true\` lists only them |
| \`GET /catalogue/tables/trades\` | one table: its columns, primary key, unique columns, indexes, scopes and row filter; of a view its query in \`view\`; in \`missingscopes\` the scopes that the caller still needs to read its rows |
| \`GET /catalogue/language\` | keywords, types and functions of IQL, with signatures, descriptions and examples |

The members have the names of the columns of \`cataloguetables\` and \`cataloguecolumns\`. \`rights\` lists what the caller may do with a
table: \`select\`, and where the scopes suffice \`insert\`, \`update\`, \`delete\` and \`alter\`.

## Formats

| \`Accept\` | format |
|---|---|
| \`${MEDIA_TYPES.json.split(';')[0]}\` | JSON as above; the rows are streamed |
| \`${MEDIA_TYPES.ndjson.split(';')[0]}\` | one row per line |
| \`${MEDIA_TYPES.csv.split(';')[0]}\` | a header line and one line per row; an empty field is NULL, \`""\` is the empty text |
| \`${MEDIA_TYPES.arrow}\` | an Arrow stream |
| \`${MEDIA_TYPES.parquet}\` | a [Parquet](#parquet) file |

\`?rows=arrays\` returns rows as arrays, and \`?integers=strings\` returns integers as strings, for clients that read every number as
a double. In JSON a Decimal is a string, an Integer a number with all its digits, a Timestamp a string in RFC 3339 format in UTC,
a LocalTimestamp the same without \`Z\`,
and a Binary value a Base64 string; NaN and the infinities are strings. \`Accept-Encoding\` can select gzip, br or zstd.

With \`?header=columns\` NDJSON begins with a line \`{"Columns": …}\` that describes the columns as JSON does, with
\`Licence\` where rows are [delayed or left out](licences.md#what-results-say). Together with
\`rows=arrays\` you can then tell rows from other lines: a row is an array, everything else an object.

\`?writes=refused\` runs a statement only if it reads; others are refused with \`Request.WritesRefused\`. Programs that run statements
written by other people should send it, as [boards](console.md#boards) do.

Every format reports an error that occurs after rows have been sent: JSON ends with \`Error\` instead of \`RowCount\`, NDJSON ends
with a line \`{"Error": …}\`, and for CSV, Arrow and Parquet the connection is closed before the end.

### Parquet

A Parquet file has row groups of 100,000 rows or 16 MiB, which are sent as they fill; pages are compressed with zstd. The footer comes
last: a file that was cut off has none, and no program reads it as a smaller result.

| type | in Parquet |
|---|---|
| Integer, Double, Boolean | INT64, DOUBLE, BOOLEAN |
| Decimal | DECIMAL, as INT64 up to 18 digits, else in 16 bytes |
| Timestamp, LocalTimestamp | TIMESTAMP in microseconds, adjusted to UTC or not |
| Date, Time | DATE; TIME in microseconds |
| Text, Json, Uuid, Binary | STRING, JSON, UUID, bytes |
| Interval | its text, as Parquet's INTERVAL has no microseconds |

Every value is exact. pandas, pyarrow, Polars, DuckDB and Spark read such files.

An Insert with the Content-Type \`${MEDIA_TYPES.parquet}\` reads such files, also those of other programs: flat columns of the same names,
in all encodings, compressed with zstd, snappy, gzip or not at all. Times of other units, unsigned and shorter integers, FLOAT, INT96 and
decimals in any form are read too. A value that does not fit exactly is refused with its row and column, for example a time with nanoseconds; a
time without a zone is taken as one in UTC. Nested columns, and BSON, INTERVAL and encrypted files are refused.
A page may have 64 MiB decompressed, and the dictionaries of a row group 32 MiB together: write smaller row groups if there are more. Pages for
which there is no memory are kept in a file while they are read, which counts as disk space of the user.

## Pagination

Results come page by page. A JSON result ends at the row limit of the service, which it reports with \`Truncated\`, or at the \`limit\` of the request. If
there are more rows, \`NextCursor\` is the start of the next page: repeat the request with \`after=\` and the cursor. A Select
continues after the key of the last row, so that concurrent inserts and deletes do not shift the pages. A statement is run again,
and the rows of earlier pages are skipped. An \`offset\` applies to the first page only.

## Running queries

\`Request-Id\` identifies a request. It is generated if absent, and appears in the response, in the log and in errors. A query ends
when it reaches its time limit (\`query_seconds\` until the first rows are sent; from then on, in CSV, NDJSON, Arrow and Parquet,
\`query_export_seconds\`), is cancelled, or its client disconnects; the process or connection that ran it is then free again.
A slow client slows down only its own query.

Users share the reader processes of SQLite and the connections to PostgreSQL:

- Short queries of any user never wait behind long ones. \`GATEHOUSE_QUERY_CONCURRENCY\` is the number of long queries that run at
  once; a few more processes or connections are left to short ones. A query is long once it has run for half a second or returned more
  than a megabyte. If too many long ones are running then, it is stopped before any of its result is sent, and runs again when its turn
  comes. If a user has a long query running, or had one stopped in the last ten seconds, other queries of that user wait for such a turn
  too, unless they have just been short.
- A user who has a query running never gets the last free process or connection. With \`GATEHOUSE_QUERY_CONCURRENCY\` of two or
  more, the first long query of another user therefore starts immediately, however many queries the first user has sent.
- A query that cannot start within \`GATEHOUSE_QUERY_SECONDS\` is refused with 503, \`Limit.Overload\` and \`Retry-After\`. Its own
  time limit begins when it starts to run.
- On PostgreSQL a user gets at most half of the connections while others use some, or did so in the last ten seconds: queries in
  one database slow one another down. On SQLite the second and later queries of a user run with a lower priority instead,
  and so does every query that has run for half a second.
- A process or connection that becomes free goes to the user with the fewest; among equals, to the one who has waited longest since their
  last turn.
- A statement of more than 4,000 characters that has no cached plan is planned in steps of a few milliseconds. Users take turns, and
  all such statements together have a quarter of the time of the server process in the long run; other requests are served in between.
- If a client reads nothing of a result for \`GATEHOUSE_QUERY_STALL\` seconds while other queries wait, its connection is closed.

SQLite has one write lock. Short writes go before long ones, and long ones of different users take turns. A long write is stopped
with \`Limit.WriteTime\` when a write of another user has waited for it for \`GATEHOUSE_QUERY_WRITE_WAIT\` seconds: split it into
several, or use PostgreSQL, where writes only wait for those that change the same rows. A write that is answered as stopped, cancelled or
out of time has left nothing; once its commit has begun it is not stopped any more, and is answered as written.

If the database cannot be reached, or has not answered for about five seconds, queries get 503 with \`Data.Unavailable\` and
\`Retry-After\`; a query that is merely long continues. A write that gets this reply
while the connection breaks may or may not have been made; with an \`Idempotency-Key\` it can be repeated safely.

On SQLite the server process itself runs short statements. These are reads of one table by a key, an index or a small \`LIMIT\`, with up
to 100 rows and 64 KiB of results; inserts of up to 1,000 rows; and updates and deletes by key. The values of such a write have up to
1,048,576 characters. Everything else runs in separate processes with a lower priority, and so does a read whose result turns out
to be larger. The reasons are in a [decision record](decisions/README.md). Such a process may use 640 MiB of memory. On Linux the
server checks this ten times a second, and where there is a shell the operating system limits it too (\`RLIMIT_DATA\`). A query that
needs more ends with \`Limit.Memory\`.

A reader process takes about 40 MiB. Long values are sent in pieces in JSON, NDJSON and CSV: while a client reads a row of stored ones, the
process holds them about twice, and those that the statement creates about four times. With the largest rows that is about 110 MiB for a
process, and 660 MiB for the six that \`GATEHOUSE_QUERY_CONCURRENCY\` allows by default. It is free again when the statement ends. Arrow,
Parquet and the wire protocol hold a row as a whole, also in the server.

Sorts, groups and joins that do not fit into memory write temporary files. Those of one query may have \`GATEHOUSE_QUERY_TEMP_BYTES\`,
and those of all running queries of a user \`GATEHOUSE_QUERY_TEMP_BYTES_PER_USER\`; a query that needs more ends with \`Limit.Disk\`.
On SQLite they are in \`/var/tmp\`, or in \`/tmp\`. The operating system limits each file of a query (RLIMIT_FSIZE), and on Linux the
server counts all files of the processes of a user ten times a second; on other systems the limit applies to each file, and files of
writes have no limit. On PostgreSQL the limit is \`temp_file_limit\`, which the server needs a right to set: see
[PostgreSQL](postgresql.md#temporary-files-and-memory).

## Limits

The limits of the language are listed with [IQL](iql.md). These limits are settings:

| setting | default | meaning |
|---|---|---|
${LIMITS.map((name) => `| \`${environmentName(name)}\` | ${SETTINGS[name].default} | ${SETTINGS[name].help} |`).join('\n')}

## Errors

Errors are problem details (RFC 9457), \`application/problem+json\`. \`Code\` is stable. \`Position\`, \`Expected\` and \`Hint\` are
present where they apply. The codes of statements, \`IQL.…\`, are listed with [IQL](iql.md).

\`\`\`json
{"type": "urn:gatehouse:error:IQL.UnknownColumn", "title": "No such column", "status": 400,
 "detail": "There is no column pric", "Code": "IQL.UnknownColumn",
 "Position": {"Offset": 7, "Line": 1, "Column": 8}, "Hint": "did you mean price?", "RequestId": "7c9e…"}
\`\`\`

| code | status | meaning | what to do |
|---|---|---|---|
${Object.entries(QUERY_ERRORS)
  .map(([code, { status, title, advice }]) => `| \`${code}\` | ${status} | ${title} | ${advice} |`)
  .join('\n')}
`,
}
