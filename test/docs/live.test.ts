/** The statements and the program on the page about live queries work on the demonstration. */
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { after, before, test } from 'node:test'
import { ADMIN, signIn } from '../support/demo-user.ts'
import { openPlace } from '../support/engines.ts'
import { startTestServer, type TestServer } from '../support/server.ts'

const page = await readFile(new URL('../../docs/live.md', import.meta.url), 'utf8')
const VALUES = new Map([
  ['s', 'ACME'],
  ['since', '2026-01-05T00:00:00Z'],
])
let server: TestServer
let leave: () => Promise<void>
let token: string

before(async () => {
  const opened = await openPlace('sqlite')
  leave = opened.leave
  server = await startTestServer(opened.place, { flags: { '--demo': 'true' } })
  token = (await signIn(server, ADMIN)).access_token
})
after(async () => {
  await server.stop()
  await leave()
})

async function query(statement: string): Promise<Record<string, unknown>[]> {
  const search = new URLSearchParams()
  for (const [, name = ''] of statement.replace(/row filter.*/, '').matchAll(/:(\w+)/g))
    search.set(`p.${name}`, VALUES.get(name) ?? '')
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'text/plain; charset=utf-8' }
  const reply = await fetch(`http://127.0.0.1:${server.port}/query?${search}`, {
    method: 'POST',
    headers,
    body: statement,
  })
  const body = (await reply.json()) as { Rows: Record<string, unknown>[] }
  assert.equal(reply.status, 200, `${statement}\n${JSON.stringify(body)}`)
  return body.Rows
}

test('every statement runs, and those of the recipes find rows where there are some', async () => {
  const statements = [...page.matchAll(/```sql\n([\s\S]*?)```/g)].map(([, statement = '']) => statement)
  assert.ok(statements.length >= 7, `${statements.length}`)
  for (const statement of statements) {
    const rows = await query(statement)
    if (/^select/.test(statement) && !/from (orders|alerts)/.test(statement)) assert.ok(rows.length > 0, statement)
  }
})

test('the commands name tables and columns that exist', async () => {
  const quoted = [...page.matchAll(/^npx gatehouse query .*"(?:explain live )?(select [^"]*)"/gm)]
  const sent = [...page.matchAll(/--data "(select [^"]*)"/g)]
  assert.ok(quoted.length >= 3 && sent.length >= 1)
  for (const [, statement = ''] of [...quoted, ...sent]) await query(statement)
})
