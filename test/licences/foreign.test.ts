/**
 * Delayed readers with programs of others: psql, pyarrow, DuckDB and npm eventsource, and with our client for Python. Each value is the time
 * at which it was sent to the server: none of them shows one that is younger than the delay, and each shows the label. They need PyPI and
 * the npm registry.
 */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { copyFile, mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { findToolchain, runCommand } from '../../scripts/examples/samples.ts'
import { root } from '../support/clone.ts'
import { openPlace } from '../support/engines.ts'
import { npm } from '../support/npm.ts'
import { until } from '../support/until.ts'
import { publish } from './feeds/feed-licences.ts'
import { SECRET, startLicenceServer } from './licence-server.ts'
import { type TablePlace, tablePlace } from './tables/table-licences.ts'

const run = promisify(execFile)
const FOLDER = join(root, 'test/licences/foreign')
const CACHE = join(root, 'node_modules/.cache/licence-readers')
const PYTHON = join(CACHE, 'bin/python')
const SECONDS = 3
const READS = 3
const EVENTS = 10
const STATEMENT = 'SELECT id FROM ticks ORDER BY id'
const LABEL = { Product: 'NYSE', Access: 'delayed', Delay: SECONDS }
const DECLARED = `
feeds:
  - { name: Numbers, keep: all, read: Platform/Market, write: Platform/Market, history: { messages: 1000 } }
products:
  - { name: NYSE, delay: ${SECONDS} seconds, default: delayed, covers: [{ table: ticks }, { feed: Numbers }] }
entitlements:
  - { product: NYSE, client: handler, access: realtime, kind: exempt }
`
/** The processes that read SQLite have a low priority. */
const FLAGS = { '--wire-port': '0', '--query-seconds': '300' }

interface Read {
  readonly values: readonly number[]
  readonly labels: readonly object[]
  /** The field Licence. */
  readonly header: string | null
  /** Milliseconds: when it had been read. */
  readonly at: number
}

interface Received {
  readonly at: number
  readonly message: { readonly Data?: number; readonly Delay?: number }
}

const psql = await findToolchain({ version: ['psql', '--version'], atLeast: [13, 0] })
const missing = await installPython()

/** Installs pyarrow, DuckDB and the client. Resolves with why that is impossible here, or false. */
async function installPython(): Promise<string | false> {
  const python = await findToolchain({ version: ['python3', '--version'], atLeast: [3, 10] })
  if (python.kind === 'missing') return `${python.reason}; it needs Python 3.10 or later`
  const made = await runCommand(['python3', '-m', 'venv', CACHE], { cwd: FOLDER, seconds: 300 })
  if (made.status !== 0) return 'needs the module venv of Python (on Debian the package python3-venv)'
  const pip = [PYTHON, '-m', 'pip', '--disable-pip-version-check', 'install', '--quiet', '-r', 'requirements.txt']
  const installed = await runCommand([...pip, join(root, 'clients/python')], { cwd: FOLDER, seconds: 300 })
  return installed.status === 0 ? false : `needs PyPI or its cache: ${installed.output.slice(0, 200)}`
}

/** The program, next to the package that it needs. */
async function installEventSource(): Promise<string> {
  const folder = join(CACHE, 'eventsource')
  await mkdir(folder, { recursive: true })
  await writeFile(join(folder, 'package.json'), '{"private":true}')
  await npm(['install', '--no-save', '--loglevel=error', 'eventsource@5.1.4'], folder)
  await copyFile(join(FOLDER, 'follow-delayed.mjs'), join(folder, 'follow-delayed.mjs'))
  return join(folder, 'follow-delayed.mjs')
}

describe('delayed readers with programs of others', () => {
  let place: TablePlace
  let leave: () => Promise<void>
  let isOver = false
  let writing: Promise<unknown> = Promise.resolve()

  before(async () => {
    const opened = await openPlace('sqlite')
    leave = opened.leave
    place = tablePlace(await startLicenceServer(opened.place, DECLARED, { flags: FLAGS }))
    const { status, body } = await place.query(
      "CREATE TABLE ticks (id Integer PRIMARY KEY) READ SCOPE 'Platform/Market' WRITE SCOPE 'Platform/Market'",
      place.server.admin,
    )
    assert.equal(status, 200, JSON.stringify(body))
    // What goes wrong is reported in the end.
    writing = write().then(
      () => undefined,
      (error: unknown) => error,
    )
    await until('there are rows and messages that are old enough', 30_000, async () => {
      const { body: result } = await place.query(STATEMENT)
      const { status: found } = await place.server.send('GET', '/feeds/Numbers/A')
      return result.Rows?.length > 0 && found === 200
    })
  })
  after(async () => {
    isOver = true
    const error = await writing
    await place.server.stop()
    await leave()
    assert.equal(error, undefined)
  })

  async function write(): Promise<void> {
    for (; !isOver; await sleep(100)) {
      const insert = await place.query(`INSERT INTO ticks (id) VALUES (${Date.now()})`, place.server.handler)
      assert.equal(insert.status, 200, JSON.stringify(insert.body))
      await publish(place.server, 'Numbers', 'A', Date.now())
    }
  }

  /** There is something, and nothing that was sent later than the delay before it had been read. */
  function assertOld(values: readonly number[], readAt: number): void {
    assert.ok(values.length > 0)
    const age = readAt - Math.max(...values)
    assert.ok(age >= SECONDS * 1_000, `it was ${age} ms old when it was read`)
  }

  test('who is not delayed sees what is younger', async () => {
    const [[newest] = []] = await place.rows('SELECT max(id) AS newest FROM ticks', place.server.handler)
    const [[shown] = []] = await place.rows('SELECT max(id) AS newest FROM ticks')
    assert.ok(Number(newest) > Number(shown), `${newest} ${shown}`)
  })

  test('psql has a notice for each statement', { skip: psql.kind === 'missing' && psql.reason }, async () => {
    const { wirePort, alice } = place.server
    const words = ['-h', '127.0.0.1', '-p', String(wirePort), '-U', 'alice', '-d', 'gatehouse', '-X', '-A', '-t', '-c']
    const env = { ...process.env, PGPASSWORD: alice, PGSSLMODE: 'disable' }
    for (const statement of Array.from({ length: READS }, () => [STATEMENT, 'COPY ticks TO STDOUT']).flat()) {
      const { stdout, stderr } = await run('psql', [...words, statement], { env })
      assertOld(stdout.trim().split('\n').map(Number), Date.now())
      assert.match(stderr, /^NOTICE: {2}NYSE is delayed by 3 s, as of 20\S+Z: ticks$/m, statement)
    }
  })

  test('pyarrow, DuckDB and the client for Python read the label with the rows', { skip: missing }, async () => {
    const { issuer, alice } = place.server
    const program = [join(FOLDER, 'read_delayed.py'), issuer, alice, 'robot', SECRET, STATEMENT, 'Numbers', 'A']
    for (let reads = 0; reads < READS; reads++) {
      const { stdout } = await run(PYTHON, program)
      const found: ReadonlyMap<string, Read> = new Map(Object.entries(JSON.parse(stdout)))
      assert.deepEqual([...found.keys()], ['pyarrow', 'DuckDB', 'rows', 'Arrow', 'live', 'feed', 'state'])
      for (const [name, { values, labels, header, at }] of found) {
        assertOld(values, at)
        assert.partialDeepStrictEqual(labels, [name === 'state' ? { Delay: SECONDS } : LABEL], name)
        assert.equal(labels.length, 1, name)
        if (header !== null) assert.match(header, /^"NYSE";table="ticks";delay=3;as-of=@\d{10}$/, name)
      }
      assert.deepEqual(
        [...found].flatMap(([name, { header }]) => (header === null ? [] : [name])),
        ['pyarrow', 'DuckDB'],
      )
    }
  })

  test('npm eventsource has the delay beside each message', async () => {
    const program = await installEventSource()
    const address = `${place.server.url}/feeds/Numbers/A`
    const { stdout } = await run(process.execPath, [program, address, place.server.alice, String(EVENTS)])
    const events: readonly Received[] = JSON.parse(stdout)
    assert.deepEqual(new Set(events.map(({ message }) => message.Delay)), new Set([SECONDS]))
    const [first, ...others] = events
    assert.equal(first?.message.Data, undefined)
    for (const { at, message } of others) assertOld(message.Data === undefined ? [] : [message.Data], at)
  })
})
