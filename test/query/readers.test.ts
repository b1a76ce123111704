/** The processes of the embedded engine: compile cache, failure to start, priority, reuse, memory. */
import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { readdir } from 'node:fs/promises'
import { connect } from 'node:net'
import { constants, getPriority } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { encodeFrame, FRAME, PipeReader } from '../../packages/server/src/child-process/frames.ts'
import { openPlace } from '../support/engines.ts'
import { until } from '../support/until.ts'
import { queryProcesses } from './query-processes.ts'
import { type QueryServer, type ServerOptions, startQueryServer } from './query-server.ts'

const PROGRAM = fileURLToPath(
  new URL('../../packages/server/src/query/engines/sqlite/processes/query-process-main.ts', import.meta.url),
)
/** Node's report, with which better-sqlite3 looks for its library, waits for every thread; here it takes a while to begin. */
const SLOW_REPORT = `const { report } = process; const make = report.getReport.bind(report)
  report.getReport = () => { Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 500); return make() }`
const SCARCE = fileURLToPath(new URL('./scarce-descriptors.ts', import.meta.url))

/** Stopped after the test, with its folder. */
async function start(t: TestContext, options?: ServerOptions): Promise<QueryServer & { readonly dataFolder: string }> {
  const { place, leave } = await openPlace('sqlite')
  const server = await startQueryServer(place, options)
  t.after(async () => {
    await server.stop()
    await leave()
  })
  return { ...server, dataFolder: place.dataFolder }
}

test('a reader writes its compile cache for the next one, although it will be killed', async (t) => {
  // If the variable is set, as in the tests, the cache is there.
  const { NODE_COMPILE_CACHE } = process.env
  delete process.env.NODE_COMPILE_CACHE
  t.after(() => Object.assign(process.env, NODE_COMPILE_CACHE === undefined ? {} : { NODE_COMPILE_CACHE }))
  const server = await start(t)
  assert.equal((await server.query('SELECT count(*) AS n FROM cataloguecolumns a, cataloguecolumns b')).status, 200)
  const kept = async (): Promise<string[]> =>
    readdir(join(server.dataFolder, 'cache'), { recursive: true }).catch((): string[] => [])
  await until('compiled code is kept', 5000, async () => (await kept()).length > 10)
})

test('the first rows in the order of a primary key are read without a process', async (t) => {
  const server = await start(t)
  const readRows = async (statement: string) => {
    const { status, json } = await server.query(statement)
    assert.equal(status, 200, statement)
    return json.Rows.map((row) => Object.values(row).join(' '))
  }
  const isReadApart = async (statement: string) => {
    await readRows(statement)
    return server.service.load().total > 0
  }
  await server.query('CREATE TABLE steps (id Integer PRIMARY KEY, word Text)')
  await server.query('CREATE TABLE ticks (symbol Text, at Integer, day Integer, PRIMARY KEY (symbol, at, day))')
  const steps = Array.from({ length: 300 }, (_step, index) => ({ id: index, word: `w${index % 7}` }))
  const ticks = steps.map(({ id }) => ({ symbol: 'abc'[id % 3], at: id, day: -id }))
  for (const [table, rows] of Object.entries({ steps, ticks }))
    assert.equal((await server.call(`/query/${table}/insert`, rows)).status, 200)
  assert.deepEqual(await readRows('SELECT id FROM steps ORDER BY id DESC LIMIT 3'), ['299', '298', '297'])
  assert.deepEqual(await readRows('SELECT word, id AS n FROM steps ORDER BY n LIMIT 2'), ['w0 0', 'w1 1'])
  assert.deepEqual(await readRows("SELECT at FROM ticks WHERE symbol = 'b' ORDER BY at DESC LIMIT 2"), ['298', '295'])
  assert.deepEqual(await readRows("SELECT day FROM ticks WHERE 4 = at AND symbol = 'b' ORDER BY day LIMIT 1"), ['-4'])
  assert.equal(server.service.load().total, 0)
  const others = [
    'SELECT word FROM steps ORDER BY word LIMIT 1',
    'SELECT id FROM steps ORDER BY id LIMIT 101',
    'SELECT id FROM steps ORDER BY id LIMIT 1 OFFSET 200',
    "SELECT id FROM steps WHERE word = 'w3' ORDER BY id LIMIT 1",
    'SELECT at FROM ticks ORDER BY symbol LIMIT 1',
    "SELECT at FROM ticks WHERE symbol = 'b' ORDER BY at, day DESC LIMIT 1",
    "SELECT at FROM ticks WHERE symbol = 'b' ORDER BY day LIMIT 1",
    "SELECT at FROM ticks WHERE symbol > 'b' ORDER BY at LIMIT 1",
  ]
  for (const statement of others) {
    assert.ok(await isReadApart(statement), statement)
    for (const id of await queryProcesses('read')) process.kill(id, 'SIGKILL')
    await until('the reader has ended', 5000, () => server.service.load().total === 0)
  }
  await server.query('CREATE INDEX ticks_by_symbol ON ticks (symbol)')
  assert.ok(await isReadApart("SELECT at FROM ticks WHERE symbol = 'b' ORDER BY at LIMIT 1"))
})

for (const task of ['read', 'write']) {
  test(`a process to ${task} starts, whichever of its threads is first`, async () => {
    const { place, leave } = await openPlace('sqlite')
    const early = `data:text/javascript,${encodeURIComponent(SLOW_REPORT)}`
    const args = ['--import', early, PROGRAM, join(place.dataFolder, 'query.db'), '1000000', task]
    await (await startQueryServer(place)).stop()
    const child = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'inherit', 'pipe'] })
    const late = setTimeout(() => child.kill('SIGKILL'), 15_000)
    try {
      child.stdin?.write(encodeFrame(FRAME.job, {}))
      assert.ok(child.stdout)
      const output = new PipeReader(child.stdout)
      if (task === 'read') assert.equal((await output.next())?.kind, FRAME.ready)
      assert.equal((await output.next())?.kind, FRAME.failed, 'it takes the job, which is none')
    } finally {
      clearTimeout(late)
      child.kill('SIGKILL')
      await leave()
    }
  })
}

test('when no process can be started, queries that need one are 503 immediately, and later ones are served', async (t) => {
  const server = await start(t, { limits: { concurrency: 1 } })
  const program = process.execPath
  t.after(() => {
    process.execPath = program
  })
  process.execPath = '/nowhere/node'
  const started = performance.now()
  const statement = 'SELECT count(*) AS n FROM cataloguecolumns a, cataloguecolumns b'
  const replies = await Promise.all([1, 2, 3].map(() => server.query(statement)))
  assert.deepEqual(
    replies.map(({ status, json }) => [status, json.Code]),
    replies.map(() => [503, 'Limit.Overload']),
  )
  assert.ok(performance.now() - started < 5000, 'no query waited for its time limit')
  assert.equal(replies[0]?.headers.get('retry-after'), '1')
  process.execPath = program
  assert.equal((await server.query(statement)).status, 200)
})

test('a server without free descriptors refuses the query and those that wait for a reader, and stays up', () => {
  const { stdout, stderr, status } = spawnSync('sh', ['-c', `ulimit -n 60; exec "$0" "$1"`, process.execPath, SCARCE], {
    encoding: 'utf8',
    timeout: 30_000,
  })
  assert.equal(status, 0, stderr)
  assert.equal(stdout, 'Limit.Overload Limit.Overload Limit.Overload alive\n')
})

test('every thread of a reader has a lower priority than the server', async (t) => {
  if (process.platform !== 'linux') return t.skip('there is no /proc')
  const server = await start(t)
  assert.equal((await server.query('SELECT count(*) AS n FROM cataloguecolumns a, cataloguecolumns b')).status, 200)
  const [reader] = await queryProcesses()
  assert.ok(reader !== undefined)
  const threads = await readdir(`/proc/${reader}/task`)
  assert.ok(threads.length > 1, 'the garbage collector has threads too')
  for (const thread of threads) assert.equal(getPriority(Number(thread)), constants.priority.PRIORITY_BELOW_NORMAL)
})

test('a long-running query continues with the lowest priority while others run queries too', async (t) => {
  if (process.platform !== 'linux') return t.skip('there is no /proc')
  const { PRIORITY_BELOW_NORMAL, PRIORITY_LOW } = constants.priority
  const server = await start(t)
  const endless = server.query(
    `SELECT count(*) AS n FROM ${'cataloguecolumns a'}${[...'bcdefghij']
      .map((name) => `, cataloguecolumns ${name}`)
      .join('')}`,
    { as: 'trader', headers: { 'request-id': 'endless' } },
  )
  await until('it runs', 10_000, async () => (await queryProcesses()).length === 1)
  const [reader = 0] = await queryProcesses()
  const readPriorities = async (id: number) =>
    (await readdir(`/proc/${id}/task`)).map((thread) => getPriority(Number(thread)))
  await until('it has a lower priority than the server', 10_000, async () =>
    (await readPriorities(reader)).every((priority) => priority === PRIORITY_BELOW_NORMAL),
  )
  await sleep(1200)
  assert.deepEqual(new Set(await readPriorities(reader)), new Set([PRIORITY_BELOW_NORMAL]), 'nobody else asks')
  const short = 'SELECT count(*) AS n FROM cataloguecolumns a, cataloguecolumns b'
  assert.equal((await server.query(short, { as: 'market' })).status, 200)
  await until('it has the lowest priority', 10_000, async () =>
    (await readPriorities(reader)).every((priority) => priority === PRIORITY_LOW),
  )
  await server.call('/query/endless', undefined, { method: 'DELETE', as: 'trader' })
  await endless
  assert.equal((await server.query(short, { as: 'market' })).status, 200)
  // One that was started for the next owner sets its priority once it has started.
  for (const id of await queryProcesses())
    if (id !== reader)
      await until('another reader has the priority of reads', 10_000, async () =>
        (await readPriorities(id)).every((priority) => priority === PRIORITY_BELOW_NORMAL),
      )
})

test('long writes use one process, one after the other, also after one that failed; a stopped one is replaced', async (t) => {
  if (process.platform !== 'linux') return t.skip('there is no /proc')
  const server = await start(t)
  t.after(async () => assert.deepEqual(await queryProcesses(), []))
  const rows = Array.from({ length: 300 }, (_row, n) => `(${n}, 1)`).join(', ')
  for (const statement of ['CREATE TABLE w (n Integer PRIMARY KEY, v Integer)', `INSERT INTO w VALUES ${rows}`])
    assert.equal((await server.query(statement)).status, 200)
  const update = () => server.query('UPDATE w SET v = v + 1 WHERE v > 0')
  assert.equal((await update()).json.RowsAffected, 300)
  const [writer, ...others] = await queryProcesses()
  assert.deepEqual(others, [])
  assert.equal((await server.query('UPDATE w SET v = 1 / (n - 299) WHERE v > 0')).json.Code, 'IQL.DivisionByZero')
  const replies = await Promise.all([update(), update(), update()])
  assert.deepEqual(
    replies.map(({ json }) => json.RowsAffected),
    [300, 300, 300],
  )
  assert.deepEqual(await queryProcesses(), [writer])
  const endless =
    'SELECT count(*) FROM w a CROSS JOIN w b CROSS JOIN w c CROSS JOIN w d WHERE a.n + b.n + c.n + d.n < 0'
  const stopped = server.query(`UPDATE w SET v = 0 WHERE (${endless}) = 0`, { headers: { 'request-id': 'endless' } })
  await until('it runs', 10_000, () => server.service.running.size === 1)
  await server.call('/query/endless', undefined, { method: 'DELETE' })
  assert.equal((await stopped).json.Code, 'Limit.Cancelled')
  assert.equal((await update()).json.RowsAffected, 300)
  const [next] = await queryProcesses()
  assert.notEqual(next, writer)
  assert.deepEqual((await server.query('SELECT min(v) AS v, max(v) AS w FROM w')).json.Rows, [{ v: 6, w: 6 }])
})

test('the bytes of a long result do not pile up until the next garbage collection', async (t) => {
  const server = await start(t)
  const rows = 'cataloguecolumns a, cataloguecolumns b, cataloguecolumns c, cataloguecolumns d, cataloguetables e'
  const sql = `SELECT a.name, b.name AS b, c.name AS c, d.name AS d, a.type AS e FROM ${rows}`
  const before = process.memoryUsage().arrayBuffers
  let most = 0
  const received = await countBytes(Number(new URL(server.url).port), sql, () => {
    most = Math.max(most, process.memoryUsage().arrayBuffers - before)
  })
  assert.ok(received > 30_000_000, `a result of ${received} bytes`)
  assert.ok(most < 10_000_000, `${most} bytes were held at once`)
})

/** Reads a result into a single buffer and returns its length. */
function countBytes(port: number, sql: string, look: () => void): Promise<number> {
  return new Promise((resolve, reject) => {
    let received = 0
    const buffer = Buffer.allocUnsafe(64 * 1024)
    const callback = (count: number): boolean => {
      received += count
      look()
      return true
    }
    connect({ port, host: '127.0.0.1', onread: { buffer, callback } })
      .on('error', reject)
      .on('end', () => resolve(received))
      .write(
        `POST /query HTTP/1.1\r\nHost: x\r\nAccept: application/x-ndjson\r\nAuthorization: Bearer admin\r\nConnection: close\r\nContent-Type: text/plain\r\nContent-Length: ${sql.length}\r\n\r\n${sql}`,
      )
  })
}
