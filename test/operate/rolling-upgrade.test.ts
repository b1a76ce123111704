/** An upgrade from the last release: real nodes of its package are replaced by those of this tree, under load; and its SQLite data. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { gitRevision, readReleases } from '../../scripts/release/releases.ts'
import { root } from '../support/clone.ts'
import { ADMIN, ALICE, post, signIn } from '../support/demo-user.ts'
import { IS_LONG_RUN } from '../support/engines.ts'
import { installGlobally, packCommit, packWorkingTree } from '../support/npm.ts'
import { createPostgresDatabase, stopOwnPostgres } from '../support/postgres.ts'
import { type RunningProcess, runGatehouse, servePlainly } from '../support/process.ts'
import { startTcpBalancer, type TcpBalancer } from '../support/tcp-balancer.ts'
import { until } from '../support/until.ts'
import { type FailedRequest, type Load, startLoad } from '../support/upgrade-load.ts'

const run = promisify(execFile)
const BUILD_MS = 600_000

interface Installed {
  readonly program: string
  /** The file of its client library. */
  readonly library: string
  /** The schema version of the identity database. */
  readonly schema: number
}

const released = await lastRelease()
const skip = !IS_LONG_RUN
  ? 'runs in npm run test:all'
  : released.commit === undefined &&
    `the history of this clone lacks ${released.revision}, the last release: git fetch --unshallow --tags`

describe('an upgrade from the last release', { skip }, () => {
  let folder: string
  let old: Installed
  let current: Installed
  const masterKey = randomBytes(32).toString('base64')

  before(
    async () => {
      folder = await mkdtemp(join(tmpdir(), 'gatehouse-upgrade-'))
      ;[old, current] = await Promise.all([
        packCommit(released.commit ?? '').then((packages) => install('old', packages)),
        packWorkingTree(join(folder, 'packages')).then((packages) => install('current', packages)),
      ])
      await writeFile(join(folder, 'clock.mjs'), CLOCK)
    },
    { timeout: BUILD_MS },
  )
  after(async () => {
    await stopOwnPostgres()
    await rm(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 })
  })

  async function install(name: string, packages: readonly string[]): Promise<Installed> {
    const server = packages.filter((file) => file.includes('gatehouse-server'))
    const place = await installGlobally(server, join(folder, name))
    const program = join(place, 'bin', 'gatehouse.js')
    const { stdout } = await runGatehouse(['--version'], { program })
    return { program, library: join(place, 'client', 'index.js'), schema: Number(/^schema +(\d+)/m.exec(stdout)?.[1]) }
  }

  const FLAGS = [
    '--demo',
    '--demo-market=false',
    '--log-format',
    'json',
    '--log-level',
    'info',
    '--stop-delay',
    '2',
    '--stream-drain-time',
    '1',
  ]

  describe('of two nodes on PostgreSQL behind a balancer', () => {
    let database: { url: string; drop(): Promise<void> }
    let balancer: TcpBalancer
    let nodes: RunningProcess[] = []
    let probing: NodeJS.Timeout

    before(async () => {
      database = await createPostgresDatabase()
      balancer = await startTcpBalancer()
      nodes = [await start(old, 0), await start(old, 1)]
      probing = followReadiness(balancer, () => nodes)
    })
    after(async () => {
      clearInterval(probing)
      for (const node of nodes) await node.stop()
      await balancer.close()
      await database.drop()
    })

    function start({ program }: Installed, index: number): Promise<RunningProcess> {
      const place = ['--data', join(folder, `node-${index}`), '--issuer', `http://127.0.0.1:${balancer.port}`]
      return servePlainly([...FLAGS, ...place, '--stream-controllers', join(folder, 'clock.mjs')], {
        program,
        environment: {
          GATEHOUSE_DATABASE_URL: database.url,
          GATEHOUSE_MASTER_KEY: masterKey,
          CLOCK_NODE: program === old.program ? 'old' : 'current',
        },
      })
    }

    /** As `systemctl restart` does once the new version is installed. */
    async function replace(index: number): Promise<void> {
      const node = nodes[index]
      assert.ok(node)
      assert.equal(await node.stop(), 0, node.output().stderr)
      const replaced = await start(current, index)
      nodes = nodes.with(index, replaced)
      await until('the new node is ready', 10_000, () => isReady(replaced))
    }

    test('no request fails, no acknowledged row is lost, live query and stream go on, and tokens are valid on both', {
      timeout: 240_000,
    }, async (t) => {
      const before = await signIn(nodes[0] ?? assert.fail(), ADMIN)
      await createLedger(nodes, before.access_token)
      const load = await startLoad({
        address: `http://127.0.0.1:${balancer.port}`,
        library: await import(pathToFileURL(old.library).href),
        ticks: { controller: 'Clock', topic: 'Tick' },
      })
      t.after(() => load.close())
      await sleep(2000)
      const began = performance.now()
      await replace(0)
      const [fresh, remaining] = nodes
      assert.ok(fresh && remaining)
      // A migration that is not additive ends the old node: docs/upgrade.md.
      const isMixed = await isReady(remaining)
      assert.ok(isMixed || old.schema !== current.schema, 'the old node serves as long as nothing is migrated')
      if (isMixed) {
        await sleep(2000)
        await checkTokens(remaining, fresh)
        await checkTokens(fresh, remaining)
      }
      await replace(1)
      const seconds = (performance.now() - began) / 1000
      await sleep(2000)
      await load.stop()

      report(t, load, { seconds, isMixed })
      if (isMixed) assert.deepEqual([...load.failed, ...load.errors], [])
      else checkInterruption(load)
      assert.ok(load.answered > 300, `${load.answered} requests`)
      await checkRows(load, nodes, before.access_token)
      // Of a position that the new version does not know, it sends the whole result: docs/releases.md.
      assert.ok(load.resumes.live.length > 0, 'the live query was on a node that was replaced')
      assert.ok(load.resumes.stream > 0, 'the stream was on a node that was replaced')
      assert.deepEqual([load.ticks[0]?.Node, load.ticks.at(-1)?.Node], ['old', 'current'])
      for (const token of [load.tokens[0], load.tokens.at(-1)])
        for (const node of nodes) assert.equal(await introspect(node, token ?? ''), true)
    })

    async function checkRows(load: Load, [node]: readonly RunningProcess[], token: string): Promise<void> {
      const rows = await query(node ?? assert.fail(), token, 'SELECT id FROM ledger')
      const stored = new Set(rows.match(/[0-9a-f-]{36}/g))
      assert.deepEqual(
        load.acknowledged.filter((id) => !stored.has(id)),
        [],
      )
      await until('the live query has every row', 5000, () => load.live.rows.length === stored.size)
      assert.deepEqual(
        load.live.rows.filter(({ id }) => !stored.has(id)),
        [],
      )
    }
  })

  test('the data folder of the last release is served, and its backup restored, by this version', {
    timeout: 120_000,
  }, async (t) => {
    const data = join(folder, 'sqlite')
    const before = await servePlainly([...QUICK, '--data', data], { program: old.program })
    t.after(() => before.stop())
    const { access_token: admin } = await signIn(before, ADMIN)
    const alice = await signIn(before, ALICE)
    await query(
      before,
      admin,
      'CREATE TABLE kept (id Integer PRIMARY KEY, price Decimal(30, 4), note Json, raw Binary, at Timestamp)',
    )
    await query(before, admin, KEPT_ROWS)
    const rows = await query(before, admin, 'SELECT * FROM kept ORDER BY id')
    const backup = join(folder, 'backup')
    const taken = await runGatehouse(['backup', backup, '--data', data], { program: old.program })
    assert.equal(taken.status, 0, taken.stderr)
    assert.equal(await before.stop(), 0, before.output().stderr)

    const restored = join(folder, 'restored')
    const done = await runGatehouse(['restore', backup, '--data', restored], { program: current.program })
    assert.equal(done.status, 0, done.stderr)
    for (const place of [data, restored]) {
      const node = await servePlainly([...QUICK, '--data', place, '--issuer', before.issuer], {
        program: current.program,
      })
      try {
        assert.equal(
          await query(node, (await signIn(node, ADMIN)).access_token, 'SELECT * FROM kept ORDER BY id'),
          rows,
        )
        if (place === restored) continue
        await query(node, admin, 'INSERT INTO kept (id) VALUES (3)')
        await refresh(node, alice.refresh_token)
      } finally {
        assert.equal(await node.stop(), 0, node.output().stderr)
      }
      const verified = await runGatehouse(['audit', 'verify', '--data', place], { program: current.program })
      assert.equal(verified.status, 0, verified.stderr)
    }
    await assertGoesBack(data, before.issuer)
  })

  /** Refused, unless nothing was migrated that the last release cannot live with. */
  async function assertGoesBack(data: string, issuer: string): Promise<void> {
    const flags = [...QUICK, '--data', data, '--issuer', issuer]
    const node = await servePlainly(flags, { program: old.program }).catch((error) => {
      assert.notEqual(old.schema, current.schema)
      assert.match(String(error), /has schema version .*start the newer gatehouse/)
    })
    if (node === undefined) return
    const { access_token: token } = await signIn(node, ADMIN)
    assert.match(await query(node, token, 'SELECT count(*) AS n FROM kept'), /"n": ?"?3/)
    assert.equal(await node.stop(), 0, node.output().stderr)
  }
})

const QUICK = ['--demo', '--demo-market=false', '--log-format', 'json', '--log-level', 'info', '--stop-delay', '0']
const KEPT_ROWS = `INSERT INTO kept (id, price, note, raw, at) VALUES
  (1, 12345678901234567890.1234, '{"a": [1, 2.50]}', X'00ff', '2026-11-17T10:00:00.123456Z'), (2, NULL, NULL, NULL, NULL)`

async function lastRelease(): Promise<{ revision: string; commit: string | undefined }> {
  const readCommit = async (revision: string) =>
    run('git', ['rev-parse', '--verify', '--quiet', `${revision}^{commit}`], { cwd: root }).then(
      ({ stdout }) => stdout.trim(),
      () => undefined,
    )
  const head = await readCommit('HEAD')
  const found = []
  for (const release of await readReleases(root)) {
    const revision = gitRevision(release)
    found.push({ revision, commit: await readCommit(revision) })
  }
  return found.findLast(({ commit }) => commit === undefined || commit !== head) ?? { revision: '', commit: undefined }
}

/** A controller of an operator, which both versions load. */
const CLOCK = `let count = 0
const tick = () => ({ Node: process.env.CLOCK_NODE, Count: count })
export default {
  name: 'Clock',
  summary: 'Ticks.',
  topics: { Tick: { summary: 'Pushes a count.', needs: 'identity', publish: tick, subscription: { slow: 'latest', snapshot: tick } } },
  start(publisher) {
    const timer = setInterval(() => {
      count += 1
      publisher.publish('Tick', tick())
    }, 100)
    return () => clearInterval(timer)
  },
}
`

/** As a load balancer does with health checks. */
function followReadiness(balancer: TcpBalancer, nodes: () => readonly RunningProcess[]): NodeJS.Timeout {
  balancer.send(nodes().map(({ port }) => port))
  return setInterval(async () => {
    const ready = await Promise.all(nodes().map(async (node) => ((await isReady(node)) ? [node.port] : [])))
    balancer.send(ready.flat())
  }, 200)
}

function isReady({ port }: RunningProcess): Promise<boolean> {
  return fetch(`http://127.0.0.1:${port}/readyz`, { method: 'HEAD' }).then(
    ({ ok }) => ok,
    () => false,
  )
}

async function createLedger(nodes: readonly RunningProcess[], token: string): Promise<void> {
  await query(nodes[0] ?? assert.fail(), token, 'CREATE TABLE ledger (id Text PRIMARY KEY)')
  for (const { port } of nodes)
    await until('every node knows the table', 10_000, async () => {
      const table = await fetch(`http://127.0.0.1:${port}/catalogue/tables/ledger`, bearerHeader(token))
      await table.arrayBuffer()
      return table.ok
    })
}

async function query({ port }: RunningProcess, token: string, statement: string): Promise<string> {
  const headers = { ...bearerHeader(token).headers, 'content-type': 'text/plain', accept: 'application/x-ndjson' }
  const response = await fetch(`http://127.0.0.1:${port}/query`, { method: 'POST', headers, body: statement })
  const text = await response.text()
  assert.equal(response.status, 200, text)
  return text
}

const bearerHeader = (token: string) => ({ headers: { authorization: `Bearer ${token}` } })

/** What one node issues, another one of the other version accepts, refreshes and revokes. */
async function checkTokens(issuing: RunningProcess, other: RunningProcess): Promise<void> {
  const issued = await signIn(issuing, ALICE)
  await query(other, issued.access_token, 'SELECT symbol FROM instruments')
  const refreshed = await refresh(other, issued.refresh_token)
  await query(issuing, refreshed.access_token, 'SELECT symbol FROM instruments')
  const again = await refresh(issuing, refreshed.refresh_token)
  const revoked = await post(other, '/connect/revocation', { token: again.refresh_token, client_id: 'demo-cli' })
  assert.equal(revoked.status, 200, await revoked.text())
  await until('the revocation is known to the other node', 2000, async () => {
    const { status } = await fetch(
      `http://127.0.0.1:${issuing.port}/connect/userinfo`,
      bearerHeader(again.access_token),
    )
    return status === 401
  })
}

async function refresh(node: RunningProcess, token: string): Promise<{ access_token: string; refresh_token: string }> {
  const form = { grant_type: 'refresh_token', client_id: 'demo-cli', refresh_token: token }
  const response = await post(node, '/connect/token', form)
  const text = await response.text()
  assert.equal(response.status, 200, text)
  return JSON.parse(text)
}

async function introspect({ port }: RunningProcess, token: string): Promise<boolean> {
  const basic = Buffer.from('demo-service:demo-service-secret').toString('base64')
  const response = await fetch(`http://127.0.0.1:${port}/connect/introspect`, {
    method: 'POST',
    headers: { authorization: `Basic ${basic}` },
    body: new URLSearchParams({ token }),
  })
  return Object(await response.json()).active
}

/** Unless the migration is additive: from then until the first new node is ready, no node serves. */
function checkInterruption({ failed, errors }: Load): void {
  assert.deepEqual(
    failed.filter(({ status }) => status !== undefined && status !== 503),
    [],
  )
  assert.deepEqual(
    errors.filter((error) => !/ConnectionError|503/.test(error)),
    [],
  )
  assert.ok(chooseInterruption(failed) < MOST_INTERRUPTED_MS, `${chooseInterruption(failed)} ms`)
}

const MOST_INTERRUPTED_MS = 15_000

function chooseInterruption(failed: readonly FailedRequest[]): number {
  return (failed.at(-1)?.at ?? 0) - (failed[0]?.at ?? 0)
}

function report(t: TestContext, load: Load, { seconds, isMixed }: { seconds: number; isMixed: boolean }): void {
  t.diagnostic(
    `from ${released.revision}${isMixed ? '' : ', with a migration'}: both nodes were replaced in ${seconds.toFixed(1)} s; ` +
      `${load.answered} requests, ${load.failed.length} plain requests (within ${(chooseInterruption(load.failed) / 1000).toFixed(1)} s) and ${load.errors.length} of the library failed; ` +
      `${load.acknowledged.length} rows, ${load.tokens.length} tokens; the live query resumed ${load.resumes.live.length} times, ` +
      `${load.resumes.live.filter((recovered) => recovered).length} of them without a new snapshot, the stream ${load.resumes.stream} times`,
  )
}
