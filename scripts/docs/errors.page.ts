/** docs/errors.md: all error codes and close codes, from their tables. */

import { ERRORS as IQL_ERRORS } from 'gatehouse-iql'
import { CLOSE_CODES, HTTP_ERRORS, STREAM_ERRORS } from 'gatehouse-protocol'
import { AUTHORIZATION_ERRORS } from '../../packages/server/src/identity/authorize/authorization-error.ts'
import { OAUTH_ERRORS } from '../../packages/server/src/identity/oauth-error.ts'
import { QUERY_ERRORS } from '../../packages/server/src/query/errors.ts'
import { type GeneratedPage, NOTICE } from './page.ts'

export const page: GeneratedPage = {
  path: 'docs/errors.md',
  render: () => `${NOTICE}

# Errors

All error codes of the server. Codes are stable, texts are not. The \`request-id\` of a response leads to its log entries.

| where | format |
|---|---|
| tokens, userinfo, introspection, revocation, devices | \`{"error": code, "error_description": …}\` (RFC 6749) |
| \`/connect/authorize\` | the same two as parameters of the redirect; an error page if there is no valid redirect URI |
| queries, administration, upgrades, everything else | problem details (RFC 9457) with \`Code\`; as a page with the code and the request id for a browser, which names \`text/html\` in \`Accept\` and sends no token |
| a streaming connection | a message with \`Action\` \`Error\`; the connection stays open unless the error is fatal |

## OAuth endpoints

${table(
  ['code', 'status', 'when', 'what to do'],
  rows(OAUTH_ERRORS, ({ status, when, advice }) => [status, when, advice]),
)}

## Authorization

${table(
  ['code', 'when', 'what to do'],
  rows(AUTHORIZATION_ERRORS, ({ when, advice }) => [when, advice]),
)}

## HTTP, administration, pages, upgrades

${table(
  ['code', 'status', 'what', 'what to do'],
  rows(HTTP_ERRORS, ({ status, title, advice }) => [status, title, advice]),
)}

## Queries

${table(
  ['code', 'status', 'SQLSTATE', 'what', 'what to do'],
  rows(QUERY_ERRORS, ({ status, sqlstate, title, advice }) => [status, sqlstate, title, advice]),
)}

## Statements

${table(
  ['code', 'status', 'SQLSTATE', 'what', 'what to do'],
  rows(IQL_ERRORS, ({ status, sqlstate, title, advice }) => [status, sqlstate, title, advice], 'IQL.'),
)}

## Streaming messages

${table(
  ['code', 'context', 'when', 'what to do'],
  rows(STREAM_ERRORS, ({ context, when, advice }) => [context, when, advice]),
)}

## Streaming closes

${table(
  ['code', 'when', 'what the client does'],
  Object.values(CLOSE_CODES).map(({ code, when, client }) => [code, when, client]),
)}
`,
}

type Cells = readonly (string | number)[]

function rows<T>(errors: Readonly<Record<string, T>>, cells: (error: T) => Cells, prefix = ''): Cells[] {
  return Object.entries(errors).map(([code, error]) => [`\`${prefix}${code}\``, ...cells(error)])
}

function table(head: Cells, body: readonly Cells[]): string {
  const line = (cells: Cells) => `| ${cells.join(' | ')} |`
  return [line(head), `|${'---|'.repeat(head.length)}`, ...body.map(line)].join('\n')
}
