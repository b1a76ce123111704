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
  for (const [, name = ''] of statement.replace(/row filter.*/, '').matchAll(/:([a-z]\w*)/g))
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
  const methods: unknown[] = []
  for (const statement of statements) {
    const rows = await query(statement)
    if (statement.startsWith('select')) methods.push((await query(`explain live ${statement}`))[0]?.method)
    if (/^select/.test(statement) && !/from (orders|alerts)/.test(statement)) assert.ok(rows.length > 0, statement)
  }
  assert.deepEqual(methods, ['rerun', 'rerun', 'rerun', 'keys', 'rerun'])
})

test('the commands name tables and columns that exist', async () => {
  const quoted = [...page.matchAll(/^\.\/gatehouse query .*"(?:explain live )?(select [^"]*)"/gm)]
  const sent = [...page.matchAll(/--data "(select [^"]*)"/g)]
  assert.ok(quoted.length >= 3 && sent.length >= 1)
  for (const [, statement = ''] of [...quoted, ...sent]) await query(statement)
})

const [, program = ''] = /```js\n([\s\S]*?)```/.exec(page) ?? []

test('the program holds the result, applies changes and resumes after a lost connection', async () => {
  const here = program.replace('https://gate.example.com', `http://127.0.0.1:${server.port}`)
  assert.notEqual(here, program)
  const statement = 'select symbol, price from trades where id > 100000'
  const { follow, cut, rows } = new Function(
    'realFetch',
    `let attempt
     const fetch = (address, options) => {
       attempt = new AbortController()
       return realFetch(address, { ...options, signal: attempt.signal })
     }
     ${here}
     return { follow, rows, cut: () => attempt.abort() }`,
  )(fetch)
  const seen: number[] = []
  let onShow = (): void => {}
  const has = async (size: number) => {
    while (rows.size !== size) await new Promise<void>((resolve) => (onShow = resolve))
  }
  const show = (): void => {
    seen.push(rows.size)
    onShow()
  }
  const insert = (id: number) =>
    query(
      `insert into trades (id, symbol, side, quantity, price, executed_at) values (${id}, 'ACME', 'Buy', 1, 101.25, '2026-01-05T09:00:00Z')`,
    )
  await insert(100_001)
  const first = follow(statement, token, show)
  await has(1)
  await insert(100_002)
  await has(2)
  cut()
  await assert.rejects(first)
  await query('delete from trades where id = 100001')
  await insert(100_003)
  await insert(100_004)
  const second = follow(statement, token, show)
  await has(3)
  assert.ok(!seen.slice(1).includes(0), 'it did not start anew')
  assert.deepEqual(
    [...rows],
    [
      ['[100002]', { symbol: 'ACME', price: '101.2500' }],
      ['[100003]', { symbol: 'ACME', price: '101.2500' }],
      ['[100004]', { symbol: 'ACME', price: '101.2500' }],
    ],
  )
  cut()
  await assert.rejects(second)
})

test('the program does not resume at a position that a Reset has voided, and joins the lines of data', async () => {
  const replies = [
    `event: snapshot
id: p1
data: {"Kind":"Snapshot","Columns":{},"Put":[
data: {"Key":[1],"Row":{"a":1}}],"More":false,"Position":"p1"}

event: reset
id
data: {"Kind":"Reset","Reason":"Definition"}

`,
    '',
  ]
  const resumed: unknown[] = []
  const answer = async (_address: string, { headers }: { headers: Record<string, string> }): Promise<Response> => {
    resumed.push(headers['last-event-id'])
    return new Response(replies.shift())
  }
  const { follow } = new Function('fetch', `${program}\nreturn { follow }`)(answer)
  const sizes: number[] = []
  for (let count = 0; count < 2; count++)
    await follow('select 1', 'token', (rows: Map<string, unknown>) => sizes.push(rows.size))
  assert.deepEqual(
    [sizes, resumed],
    [
      [1, 0],
      [undefined, undefined],
    ],
  )
})
