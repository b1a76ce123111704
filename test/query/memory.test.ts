/** The memory of the processes that run queries on the embedded engine: limited, also where SQLite allocates it. */
import assert from 'node:assert/strict'
import { readdir, readFile } from 'node:fs/promises'
import { after, before, describe, test } from 'node:test'
import { openPlace } from '../support/engines.ts'
import { type QueryServer, startQueryServer } from './query-server.ts'

const TEXT_BYTES = 7_000_000
/** SQLite holds a copy of the text for every column, and keeps those of each sub-query: 2 GB. */
const HUNGRY = Array.from({ length: 4 }, (_, index) => {
  const columns = Array.from({ length: 70 }, (_column, ordinal) => `t AS c${ordinal}`).join(', ')
  return `(SELECT count(*) FROM (SELECT DISTINCT ${columns} FROM big WHERE id <> ${-1 - index}) AS x)`
}).join(' + ')

describe('memory of the embedded engine', {
  skip: process.platform !== 'linux' && 'limits are known for Linux',
}, () => {
  let opened: Awaited<ReturnType<typeof openPlace>>
  let server: QueryServer
  before(async () => {
    opened = await openPlace('sqlite')
    server = await startQueryServer(opened.place, { limits: { concurrency: 2 } })
    assert.equal((await server.query('CREATE TABLE big (id Integer PRIMARY KEY, t Text)')).status, 200)
    assert.equal((await server.call('/query/big/insert', { id: 1, t: 'x'.repeat(TEXT_BYTES) })).status, 200)
    assert.equal((await server.query('CREATE TABLE wide (id Integer PRIMARY KEY, c0 Text)')).status, 200)
  })
  after(async () => {
    await server.stop()
    await opened.leave()
  })

  test('a query that takes too much native memory is 422 Limit.Memory, and the pool recovers', async () => {
    const statement = `SELECT ${HUNGRY} AS n`
    for (let round = 0; round < 3; round++) {
      const most = mostMemory()
      const reply = await server.query(statement)
      assert.deepEqual([reply.status, reply.json.Code], [422, 'Limit.Memory'], reply.text.slice(0, 200))
      assert.ok((await most()) < 900 * 1024, 'KiB of one process')
      assert.equal((await server.query('SELECT count(*) AS n FROM big WHERE length(t) > 1')).json.Rows[0]?.n, 1)
    }
  })

  test('a query whose rows exceed the heap of its process is 422 Limit.Memory', async () => {
    const columns = Array.from({ length: 100 }, (_, index) => `t AS c${index}`).join(', ')
    const reply = await server.query(`SELECT ${columns} FROM big`)
    assert.deepEqual([reply.status, reply.json.Code], [422, 'Limit.Memory'], reply.text.slice(0, 200))
    assert.equal((await server.query('SELECT count(*) AS n FROM big WHERE length(t) > 1')).json.Rows[0]?.n, 1)
  })

  test('a write that takes too much native memory is 422 Limit.Memory, and writes nothing', async () => {
    const reply = await server.query(`INSERT INTO wide (id) SELECT ${HUNGRY} FROM big`)
    assert.deepEqual([reply.status, reply.json.Code], [422, 'Limit.Memory'], reply.text.slice(0, 200))
    assert.equal((await server.query('SELECT count(*) AS n FROM wide WHERE id > 0')).json.Rows[0]?.n, 0)
    assert.equal((await server.call('/query/wide/insert', { id: 2, c0: 'after' })).status, 200)
  })

  test('the operating system limits the memory of a reader', async () => {
    assert.equal((await server.query('SELECT count(*) AS n FROM big WHERE length(t) > 1')).status, 200)
    const [reader] = await queryProcesses()
    const limits = await readFile(`/proc/${reader}/limits`, 'utf8')
    assert.match(limits, /^Max data size +\d+ /m)
  })
})

/** Watches the processes of queries. The result is the most memory that one of them used, in KiB. */
function mostMemory(): () => Promise<number> {
  let most = 0
  const look = async (): Promise<void> => {
    for (const process of await queryProcesses()) {
      const status = await readFile(`/proc/${process}/status`, 'latin1').catch(() => '')
      most = Math.max(most, Number(/^RssAnon:\s*(\d+) kB$/m.exec(status)?.[1] ?? 0))
    }
  }
  const timer = setInterval(() => void look(), 20)
  timer.unref()
  return async () => {
    clearInterval(timer)
    await look()
    return most
  }
}

async function queryProcesses(): Promise<number[]> {
  const children = await readFile(`/proc/self/task/${process.pid}/children`, 'utf8').catch(() => '')
  const found = children === '' ? await readdir('/proc') : children.trim().split(' ')
  const processes: number[] = []
  for (const entry of found.filter((name) => /^\d+$/.test(name))) {
    const command = await readFile(`/proc/${entry}/cmdline`, 'utf8').catch(() => '')
    const stat = await readFile(`/proc/${entry}/stat`, 'utf8').catch(() => '')
    const parent = Number(stat.split(') ').at(-1)?.split(' ')[1])
    if (parent === process.pid && command.includes('query-process-main.')) processes.push(Number(entry))
  }
  return processes
}
