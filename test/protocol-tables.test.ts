/** Tables promise: what they list is used somewhere in the program, and no error is answered that they do not list. */
import assert from 'node:assert/strict'
import { glob, readFile } from 'node:fs/promises'
import { test } from 'node:test'
import { AUDIT_EVENTS, HTTP_ERRORS, type HttpError, STREAM_ERRORS } from 'gatehouse-protocol'
import { AUTHORIZATION_ERRORS } from '../packages/server/src/identity/authorize/authorization-error.ts'
import { OAUTH_ERRORS } from '../packages/server/src/identity/oauth-error.ts'
import { QUERY_ERRORS } from '../packages/server/src/query/errors.ts'
import { listResources } from '../packages/server/src/resources/resources.ts'
import { METRICS } from '../packages/server/src/telemetry/metric-table.ts'

const root = new URL('../packages/server/src/', import.meta.url)

/** Recorded for every kind of resource under the name of its definition. */
const RESOURCE_EVENTS = new Set(
  listResources().flatMap(({ noun }) => [`${noun}.created`, `${noun}.changed`, `${noun}.deleted`]),
)

for (const [what, table, own] of [
  ['metric', METRICS, 'telemetry/metric-table.ts'],
  ['audit event', AUDIT_EVENTS, 'protocol/audit-events.ts'],
  ['error over HTTP', HTTP_ERRORS, 'protocol/http-errors.ts'],
  ['error of OAuth', OAUTH_ERRORS, 'identity/oauth-error.ts'],
  ['error of authorization', AUTHORIZATION_ERRORS, 'identity/authorize/authorization-error.ts'],
  ['error of queries', QUERY_ERRORS, 'query/errors.ts'],
  ['error of streaming', STREAM_ERRORS, 'protocol/stream-errors.ts'],
] as const) {
  test(`every ${what} of the table is used`, async () => {
    const all = [...(await sources())].flatMap(([file, text]) => (file === own ? [] : [text])).join('\n')
    assert.deepEqual(
      Object.keys(table).filter((name) => !all.includes(`'${name}'`) && !RESOURCE_EVENTS.has(name)),
      [],
    )
  })
}

test('every refusal that is written out is in the table, with its status', async () => {
  const tables: Readonly<Record<string, Pick<HttpError, 'status'>>> = { ...HTTP_ERRORS, ...OAUTH_ERRORS }
  const written = [...(await sources()).values()].flatMap((text) => [
    ...Array.from(text.matchAll(/new Refusal\(\s*'([^']+)',\s*(\d+)/g), ([, code, status]) => ({ code, status })),
    ...Array.from(text.matchAll(/challenge\((\d+), '([^']+)'/g), ([, status, code]) => ({ code, status })),
  ])
  assert.ok(written.length > 40, `only ${written.length} refusals were found`)
  assert.deepEqual(
    written.filter(({ code = '', status }) => tables[code]?.status !== Number(status)),
    [],
  )
})

async function sources(): Promise<Map<string, string>> {
  const texts = new Map<string, string>()
  for await (const file of glob('**/*.ts', { cwd: root.pathname }))
    texts.set(file, await readFile(new URL(file, root), 'utf8'))
  return texts
}
