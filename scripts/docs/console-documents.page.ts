/** docs/console-documents.md: saved queries and boards, from their schema. */

import { DEFAULT_PAGE, MAX_PAGE } from '../../packages/server/src/query/http/page-parameters.ts'
import {
  BOARD_BODY,
  BOARD_COLUMNS,
  MAX_BODY_BYTES,
  MAX_TILES,
  QUERY_BODY,
  TILE,
} from '../../packages/server/src/query/saved/document-schema.ts'
import { describeSaved, LISTED } from '../../packages/server/src/query/saved/openapi.ts'
import { DEFAULT_QUERY_LIMITS } from '../../packages/server/src/query/service-options.ts'
import { type GeneratedPage, NOTICE } from './page.ts'

interface Described {
  readonly type?: string | readonly string[]
  readonly enum?: readonly string[]
  readonly anyOf?: readonly Described[]
  readonly items?: Described
  readonly minItems?: number
  readonly maxItems?: number
  readonly minimum?: number
  readonly maximum?: number
  readonly maxLength?: number
  readonly description?: string
}

function findType(schema: Described): string {
  if (schema.enum !== undefined) return schema.enum.map((value) => `\`${value}\``).join(', ')
  if (schema.anyOf !== undefined) return schema.anyOf.map(findType).join(' or ')
  const [minimum, maximum] = [schema.minimum, schema.maximum]
  if (minimum !== undefined && maximum !== undefined) return `${minimum} to ${maximum}`
  if (schema.type === 'array') return `a list of ${schema.minItems ?? 0} to ${schema.maxItems}`
  const most = schema.maxLength === undefined ? '' : `, at most ${schema.maxLength} characters`
  return [schema.type].flat().join(' or ').replace('string', 'text') + most
}

function members({
  required,
  properties,
}: {
  readonly required: readonly string[]
  readonly properties: object
}): string {
  const rows = Object.entries(properties as Record<string, Described>).map(
    ([name, schema]) =>
      `| \`${name}\`${required.includes(name) ? ' (required)' : ''} | ${findType(schema)} | ${schema.description ?? ''} |`,
  )
  return ['| member | value | |', '|---|---|---|', ...rows].join('\n')
}

const thousands = (count: number): string => count.toLocaleString('en')

export const page: GeneratedPage = {
  path: 'docs/console-documents.md',
  render: () => `${NOTICE}

# Saved queries and boards

A **saved query** is a statement with its parameters and the way its result is shown. A **board** is a grid of tiles, each of
which shows the result of a statement. Both are documents in the query database: they have an owner, they can be shared, and they
are backed up and restored with everything else. Any holder of an access token for the platform can keep documents, in the console
or through the API below.

A document holds statements, not rows. Anyone who opens a shared one runs its statements with their own rights, so a program that runs
them automatically must send [\`writes=refused\`](query.md#formats), as boards do. They see the tables and rows that they may read.

## The API

| method | path | |
|---|---|---|
${describeSaved()
  .map(({ method, path, summary }) => `| ${method} | \`${path}\` | ${summary} |`)
  .join('\n')}

\`\`\`
curl https://gate.example.com/saved -H "Authorization: Bearer $TOKEN" -H 'Content-Type: application/json' \\
  --data '{"kind": "query", "name": "Last trades", "shared": "everyone",
           "body": {"statement": "select * from trades where symbol = :symbol order by executed_at desc limit 50",
                    "parameters": {"symbol": "ACME"}, "live": true}}'
\`\`\`
\`\`\`json
{"id": "b1Xy…", "kind": "query", "name": "Last trades", "owner": "usr_…", "username": "alice", "shared": "everyone",
 "version": 1, "updated": "2026-11-16T08:00:00.000Z", "body": {…}}
\`\`\`

${members({ required: [], properties: LISTED })}

- **Lists** have \`{"items": […], "next": path or null}\`, ordered by name without regard to case, without bodies; ${DEFAULT_PAGE}
  documents a page, or up to ${thousands(MAX_PAGE)} by \`limit\`. \`kind\` and \`prefix\` narrow them down. They contain what belongs to the
  caller and what is shared with the caller.
- **A change** must send the \`ETag\` that was read in \`If-Match\`: without it the reply is 428, after a change of somebody else 412, and
  \`*\` matches any version. Each of \`name\`, \`shared\` and \`body\` that is sent completely replaces the previous value; \`kind\` never changes.
  For a deletion \`If-Match\` is optional.
- **Rights.** The owner reads, changes and deletes. \`shared\` lets others read: \`everyone\` is everybody who may query, a list names
  roles, which must be roles of the owner. With \`Platform/Admin\` a caller reads any document by its id, lists those of anybody with
  \`owner\`, changes and deletes them, shares with any role, and hands a document to somebody else by the member \`owner\`. A document
  that the caller is not allowed to read does not exist for the caller.
- **Limits.** An owner has at most ${DEFAULT_QUERY_LIMITS.documentsPerOwner} documents. The JSON of a body has at most ${thousands(MAX_BODY_BYTES)} bytes.
- **A deleted user.** Within an hour the private documents of a user or client that was deleted are removed. Shared ones stay, so that
  no one loses a document that they use; \`username\` is null, and an administrator can delete them or hand them over.
- **Audit.** \`saved.shared\` is recorded when a document is shared or no longer shared, \`saved.changed\` and \`saved.deleted\` when an
  administrator changes or deletes a document of somebody else. See [audit log](audit.md).

Errors are problem documents with the codes \`Saved.…\` of [errors](errors.md). \`Faults\` lists what is wrong with a body, by path, such
as \`body.tiles[2].view\`. Statements are not checked when they are saved: a table may be gone, or come later.

## The body of a query

${members(QUERY_BODY)}

## The body of a board

${members(BOARD_BODY)}

A board has at most ${MAX_TILES} tiles, each with these members:

${members(TILE)}

\`position\` places a tile on a grid of ${BOARD_COLUMNS} columns: \`x\` and \`y\` are its first column and row, \`w\` and \`h\` its size. Rows have a
fixed height; tiles that overlap are moved down when they are drawn.

${members(TILE.properties.position)}

\`\`\`json
{"tiles": [
  {"title": "Prices", "view": "line", "live": true, "x": "minute", "y": ["price"], "series": "symbol",
   "statement": "select time_bucket(interval '1 minute', executed_at) as minute, symbol, last(price, executed_at) as price from trades group by minute, symbol order by minute",
   "position": {"x": 0, "y": 0, "w": 8, "h": 6}},
  {"title": "Candles", "view": "candles", "x": "minute", "y": ["open", "high", "low", "close"],
   "statement": "select time_bucket(interval '1 minute', executed_at) as minute, first(price, executed_at) as open, max(price) as high, min(price) as low, last(price, executed_at) as close from trades where symbol = :symbol group by minute order by minute",
   "parameters": {"symbol": "ACME"},
   "position": {"x": 0, "y": 6, "w": 12, "h": 6}}
]}
\`\`\`

## Charts

| view | \`x\` | \`y\` |
|---|---|---|
| \`table\` | – | – |
| \`line\`, \`scatter\` | a Timestamp, Date or number | one or more numbers |
| \`bar\` | any column | one or more numbers |
| \`candles\` | a Timestamp or Date | open, high, low, close; and volume |

Absent members are chosen from the result: \`x\` is its first Timestamp or Date, or else its first column, and \`y\` its numbers.
With \`series\`, the rows of each value of that column are drawn as a separate series, and \`y\` has one column. Lines, scatter charts and
candles are drawn in the order of \`x\`, bars in the order of the rows. A Decimal is drawn as a number, NULL as a gap.
In candles and lines over a time, a column named \`volume\`, \`vol\`, \`quantity\` or \`qty\` is drawn as bars in a pane of its own.

The title of a tile may contain its parameters: \`Candles of :symbol\`.

The demonstration (\`npm start\`) brings the board \`demo-market\` and a few queries, which belong to its user \`admin\` and are shared with
everyone. A restart creates missing ones and leaves the others unchanged.
`,
}
