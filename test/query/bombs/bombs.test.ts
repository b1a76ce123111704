/** Bodies of bulk inserts and COPY that mean far more than they say: none of them holds the event loop, or takes much memory. */
import assert from 'node:assert/strict'
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { after, before, type TestContext, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { ADMIN, signIn } from '../../support/demo-user.ts'
import { IN_LONG_RUNS } from '../../support/engines.ts'
import { message } from '../../support/wire-client.ts'
import { WireSession } from '../../support/wire-session.ts'
import { ARROW_BOMBS } from './arrow-bombs.ts'
import type { Cost, Order, Ready } from './measured-server.ts'
import { PARQUET_BOMBS } from './parquet-bombs.ts'
import { COPY_BOMBS, CSV_BOMBS, MANY, NDJSON_BOMBS } from './text-bombs.ts'

const MEBIBYTE = 1024 * 1024
/** Of the memory, 32 MiB are for what the garbage collector leaves for later. */
const LIMIT = { turn: 50, memory: (64 + 32) * MEBIBYTE }
const IMPORT_BYTES = 24 * MEBIBYTE
const TYPES = {
  csv: 'text/csv',
  ndjson: 'application/x-ndjson',
  arrow: 'application/vnd.apache.arrow.stream',
  parquet: 'application/vnd.apache.parquet',
}
/** What is not refused by then goes on in turns. */
const LONGEST_MS = 1500

const read = (name: string): Buffer => readFileSync(new URL(name, import.meta.url))

let server: ChildProcess
let ready: Ready
let token = ''
before(async () => {
  server = fork(fileURLToPath(new URL('./measured-server.ts', import.meta.url)), [String(IMPORT_BYTES)], {
    execArgv: ['--expose-gc'],
  })
  ready = (await once(server, 'message'))[0] as Ready
  token = (await signIn(ready, ADMIN)).access_token
  const wide = Array.from({ length: 16 }, (_, index) => `c${index} Text`)
  for (const statement of [
    `CREATE TABLE wide (${wide.join()})`,
    'CREATE TABLE mixed (t Text, j Json, d Decimal(20, 2), x Binary)',
    'CREATE TABLE fixture (id Integer PRIMARY KEY, i Integer, i32 Integer, u32 Integer, d9 Decimal(9,2), d18 Decimal(18,4), d38 Decimal(38,18), f Double, f32 Double, o Boolean, t Text, s Timestamp, l Timestamp, a Date, m Time, b Binary)',
    'CREATE TABLE polars (id Integer PRIMARY KEY, t Text, c Text, b Binary, f Double, o Boolean, s Timestamp, a Date, m Time, d Decimal(10, 2))',
    `CREATE TABLE many (${MANY.map((name) => `${name} Text`).join()})`,
  ])
    assert.equal((await call('/query', 'text/plain', Buffer.from(statement)))?.status, 200, statement.slice(0, 40))
  // Code that has not run yet is slow, and memory that was never used is not there yet.
  for (let round = 0; round < 2; round++) {
    await dryRun('wide', 'csv', Buffer.from(`c0\n${'x\n'.repeat(20_000)}`))
    await dryRun('wide', 'ndjson', Buffer.from(`{"c0":"x"}\n`.repeat(20_000)))
    for (const body of [
      read('../parquet/fixtures/pyarrow-zstd.parquet'),
      read('../parquet/fixtures/duckdb-snappy.parquet'),
    ])
      await dryRun('fixture', 'parquet', body)
    for (const body of [read('../arrow/fixtures/polars.arrow'), read('../arrow/fixtures/pyarrow-dictionaries.arrows')])
      await dryRun('polars', 'arrow', body)
  }
})
after(async () => {
  order('stop')
  await once(server, 'exit')
})

function order(what: Order): void {
  server.send(what)
}

/** Undefined if there is no answer in time. */
async function call(path: string, type: string, body: Buffer, longestMs = 60_000): Promise<Response | undefined> {
  try {
    const response = await fetch(`http://127.0.0.1:${ready.port}${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': type, connection: 'close' },
      body,
      signal: AbortSignal.timeout(longestMs),
    })
    await response.arrayBuffer()
    return response
  } catch (error) {
    if (error instanceof DOMException && error.name === 'TimeoutError') return undefined
    throw error
  }
}

const dryRun = (table: string, type: keyof typeof TYPES, body: Buffer, longestMs?: number) =>
  call(`/query/${table}/insert?dryrun=true`, TYPES[type], body, longestMs)

async function measureCost(act: () => Promise<unknown>): Promise<Cost> {
  order('begin')
  await once(server, 'message')
  await act()
  order('end')
  return (await once(server, 'message'))[0] as Cost
}

/**
 * The shortest of three, as other programs use the machine too. Memory counts the first time: the process may keep what it has once
 * taken, and would need no more later.
 */
async function checkCost(context: TestContext, act: () => Promise<unknown>): Promise<void> {
  let { turn, memory } = await measureCost(act)
  for (let round = 0; round < 2 && turn > LIMIT.turn; round++) turn = Math.min(turn, (await measureCost(act)).turn)
  const shown = `a turn of ${Math.round(turn)} ms, ${Math.round(memory / MEBIBYTE)} MiB`
  context.diagnostic(shown)
  assert.ok(turn <= LIMIT.turn && memory <= LIMIT.memory, shown)
}

/** The first of each format runs in `npm test`. */
const inShort = (index: number) => (index === 0 ? {} : IN_LONG_RUNS)

for (const [type, bombs] of [
  ['parquet', PARQUET_BOMBS],
  ['arrow', ARROW_BOMBS],
] as const)
  for (const [index, [name, make]] of Object.entries(bombs).entries())
    test(`${type}: ${name}`, inShort(index), async (context) => {
      const body = make()
      await checkCost(context, async () => {
        const response = await dryRun('wide', type, body, LONGEST_MS)
        assert.ok(response === undefined || response.status < 500 || response.status === 507, String(response?.status))
      })
    })

for (const [type, bombs] of [
  ['ndjson', NDJSON_BOMBS],
  ['csv', CSV_BOMBS],
] as const)
  for (const [index, [name, [table, make]]] of Object.entries(bombs).entries())
    test(`${type}: ${name}`, inShort(index), async (context) => {
      const body = make()
      await checkCost(context, async () => {
        const response = await dryRun(table, type, body, LONGEST_MS)
        assert.ok(response === undefined || response.status < 500, String(response?.status))
      })
    })

const PART_BYTES = 64 * 1024

for (const [index, [name, [statement, make]]] of Object.entries(COPY_BOMBS).entries())
  test(`COPY: ${name}`, inShort(index), async (context) => {
    const body = make()
    await checkCost(context, async () => {
      const session = await WireSession.open(ready.wirePort, ADMIN.username, ADMIN.password)
      session.client.send(message('Q', `${statement}\0`))
      await session.client.reply()
      for (let at = 0; at < body.length; at += PART_BYTES)
        session.client.send(message('d', body.subarray(at, at + PART_BYTES)))
      const { errors } = await session.send(message('c'))
      assert.ok(
        errors.every(({ C = '' }) => !C.startsWith('XX')),
        errors[0]?.M,
      )
      session.close()
    })
    await call('/query', 'text/plain', Buffer.from('DELETE FROM mixed ALL'))
  })
