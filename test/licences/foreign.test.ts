/**
 * Delayed readers with tools of others: psql, pyarrow, DuckDB, npm's eventsource, and our client for Python. Each value is the time at which
 * its commit began: none of them shows one that is younger than the delay, and each shows the label. They need PyPI and the npm registry.
 */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { findToolchain, runCommand } from '../../scripts/examples/samples.ts'
import { root } from '../support/clone.ts'
import { openPlace } from '../support/engines.ts'
import { npm } from '../support/npm.ts'
import { publish } from './feeds/feed-licences.ts'
import { SECRET, startLicenceServer } from './licence-server.ts'
import { type TablePlace, tablePlace } from './tables/table-licences.ts'

const run = promisify(execFile)
const FOLDER = join(root, 'test/licences/foreign')
const CACHE = join(root, 'node_modules/.cache/licence-readers')
const PYTHON = join(CACHE, 'bin/python')
const EVENTSOURCE = 'eventsource@5.1.5'
const DELAY_MS = 3_000
const READS = 3
const STATEMENT = 'SELECT id FROM ticks ORDER BY id'
const DECLARED = `
feeds:
  - { name: Numbers, keep: all, read: Platform/Market, write: Platform/Market, history: { messages: 1000 } }
products:
  - { name: NYSE, delay: 3 seconds, default: delayed, covers: [{ table: ticks }, { feed: Numbers }] }
entitlements:
  - { product: NYSE, client: handler, access: realtime, kind: exempt }
`

const missing = await prepare()

/** Installs the tools. Resolves with why that is impossible here, or false. */
async function prepare(): Promise<string | false> {
  const psql = await findToolchain({ version: ['psql', '--version'], atLeast: [13, 0] })
  if (psql.kind === 'missing') return psql.reason
  const python = await findToolchain({ version: ['python3', '--version'], atLeast: [3, 10] })
  if (python.kind === 'missing') return `${python.reason}; it needs Python 3.10 or later`
  const made = await runCommand(['python3', '-m', 'venv', CACHE], { cwd: FOLDER, seconds: 300 })
  if (made.status !== 0) return 'needs the module venv of Python (on Debian the package python3-venv)'
  const pip = [PYTHON, '-m', 'pip', '--disable-pip-version-check', 'install', '--quiet', '-r', 'requirements.txt']
  const installed = await runCommand([...pip, join(root, 'clients/python')], { cwd: FOLDER, seconds: 300 })
  if (installed.status !== 0) return `needs PyPI or its cache: ${installed.output.slice(0, 200)}`
  await mkdir(join(CACHE, 'npm'), { recursive: true })
  await writeFile(join(CACHE, 'npm/package.json'), '{"private":true}')
  await npm(['install', '--no-audit', '--no-fund', '--prefer-offline', EVENTSOURCE], join(CACHE, 'npm'))
  return false
}

describe('delayed readers with tools of others', { skip: missing }, () => {
  let place: TablePlace
  let leave: () => Promise<void>
  let isOver = false
  let writing: Promise<void>
  before(async () => {
    const opened = await openPlace('sqlite')
    leave = opened.leave
    place = tablePlace(await startLicenceServer(opened.place, DECLARED, { flags: { '--wire-port': '0' } }))
    const { admin, handler } = place.server
    const { status, body } = await place.query(
      "CREATE TABLE ticks (id Integer PRIMARY KEY) READ SCOPE 'Platform/Market' WRITE SCOPE 'Platform/Market'",
      admin,
    )
    assert.equal(status, 200, JSON.stringify(body))
    writing = (async () => {
      for (; !isOver; await sleep(100)) {
        const reply = await place.query(`INSERT INTO ticks (id) VALUES (${Date.now()})`, handler)
        assert.equal(reply.status, 200, JSON.stringify(reply.body))
        await publish(place.server, 'Numbers', 'A', Date.now())
      }
    })()
    await sleep(DELAY_MS)
  })
  after(async () => {
    isOver = true
    await writing
    await place.server.stop()
    await leave()
  })

  /** Something, and nothing that was committed later than the delay before it was read. */
  function assertOld(values: readonly number[], readAt: number): void {
    const youngest = Math.max(...values)
    assert.ok(youngest <= readAt - DELAY_MS, `read when it was ${readAt - youngest} ms old`)
    assert.ok(youngest > 0)
  }

  test('psql has a notice', async () => {
    for (let reads = 0; reads < READS; reads++) {
      const where = ['-h', '127.0.0.1', '-p', String(place.server.wirePort), '-U', 'alice', '-d', 'gatehouse']
      const env = { ...process.env, PGPASSWORD: place.server.alice, PGSSLMODE: 'disable' }
      const { stdout, stderr } = await run('psql', [...where, '-X', '-A', '-t', '-c', STATEMENT], { env })
      assertOld(stdout.trim().split('\n').map(Number), Date.now())
      assert.match(stderr, /^NOTICE: {2}NYSE is delayed by 3 s, as of /)
    }
  })

  test('pyarrow, DuckDB and the client for Python have the key licence', async () => {
    const { url, alice } = place.server
    for (let reads = 0; reads < READS; reads++) {
      const { stdout } = await run(PYTHON, [
        ...[join(FOLDER, 'read_delayed.py'), url, alice],
        ...['robot', SECRET, STATEMENT],
      ])
      const found: Record<string, { values: string[]; licence: object[]; at: number }> = JSON.parse(stdout)
      assert.deepEqual(Object.keys(found), ['pyarrow', 'duckdb', 'client'])
      for (const { values, licence, at } of Object.values(found)) {
        assertOld(values.map(Number), at)
        assert.partialDeepStrictEqual(licence, [{ Product: 'NYSE', Table: 'ticks', Access: 'delayed', Delay: 3 }])
      }
    }
  })

  test('npm eventsource has the delay beside each message', async () => {
    const entry = pathToFileURL(join(CACHE, 'npm/node_modules/eventsource/dist/index.js')).href
    const { EventSource } = await import(entry)
    const source = new EventSource(`${place.server.url}/feeds/Numbers/A`, {
      fetch: (input: string, init: RequestInit) =>
        fetch(input, { ...init, headers: { ...init.headers, authorization: `Bearer ${place.server.alice}` } }),
    })
    try {
      const messages: { Data?: number; Delay?: number }[] = []
      await new Promise<void>((resolve, reject) => {
        const late = setTimeout(() => reject(new Error(`only ${messages.length} messages came`)), 60_000)
        const take = ({ data }: { readonly data: string }): void => {
          const message = JSON.parse(data)
          messages.push(message)
          if (message.Data !== undefined) assertOld([message.Data], Date.now())
          if (messages.length < 10) return
          clearTimeout(late)
          resolve()
        }
        for (const name of ['message', 'publish', 'Publish']) source.addEventListener(name, take)
      })
      assert.deepEqual(new Set(messages.map(({ Delay }) => Delay)), new Set([3]))
    } finally {
      source.close()
    }
  })
})
