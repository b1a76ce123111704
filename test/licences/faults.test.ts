/**
 * The simulation of licences while nodes are killed and lose their database: 0 values beyond a horizon, never a place too many, and a report
 * that a Python program makes of the audit log to the byte. LICENCE_FAULT_SECONDS is the duration for each installation.
 */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { ADMIN } from '../support/demo-user.ts'
import { IS_LONG_RUN } from '../support/engines.ts'
import { agentToken } from '../support/mcp.ts'
import { startPostgres } from '../support/postgres.ts'
import { until } from '../support/until.ts'
import { SimulatedNodes } from './simulation/nodes.ts'
import { createRandom, type SimulatedServer, Simulation } from './simulation/simulation.ts'

const SECONDS = Number(process.env.LICENCE_FAULT_SECONDS ?? (IS_LONG_RUN ? 90 : 0))
const SEED = Number(process.env.LICENCE_SEED ?? 1)
const REPORT = fileURLToPath(new URL('usage_report.py', import.meta.url))

describe('licences with faults', {
  skip: SECONDS === 0 && 'runs in npm run test:all, or with LICENCE_FAULT_SECONDS=30',
}, () => {
  test('SQLite', { timeout: (SECONDS + 900) * 1_000 }, (t) => simulate(t, 1, undefined))

  test('two nodes on PostgreSQL', { timeout: (SECONDS + 900) * 1_000 }, async (t) => {
    const postgres = await startPostgres()
    t.after(() => postgres.stop())
    await simulate(t, 2, postgres.url)
  })
})

async function simulate(t: TestContext, count: number, databaseUrl: string | undefined): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'gatehouse-licence-faults-'))
  t.after(() => rm(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 }))
  const nodes = await SimulatedNodes.start({ folder, count, databaseUrl })
  t.after(() => nodes.stop())
  const servers = await nodes.servers()
  const [first] = servers
  assert.ok(first)
  const random = createRandom(SEED)
  const reached = { port: first.port, issuer: nodes.issuer }
  const agents = { alice: await agentToken(reached), admin: await agentToken(reached, ADMIN) }
  const simulation = new Simulation({ servers, agents, random, seed: SEED, hasFaults: true })
  await simulation.prepare()
  const caused = new Map<string, number>()
  let isOver = false
  const failing = (async () => {
    while (!isOver) {
      await sleep(8_000 + random(8_000))
      const index = random(nodes.count)
      const isKill = databaseUrl === undefined || random(2) === 0
      const name = isKill ? 'kill -9' : 'database lost'
      caused.set(name, (caused.get(name) ?? 0) + 1)
      simulation.ledger.faultAt = Date.now()
      if (isKill) {
        await nodes.kill(index)
        await sleep(random(2_000))
        await nodes.start(index)
      } else await nodes.loseDatabase(index, 500 + random(18_000))
      simulation.ledger.faultAt = Date.now()
    }
  })()
  try {
    await simulation.run(SECONDS * 1_000)
  } catch (error) {
    t.diagnostic(nodes.output())
    throw error
  } finally {
    isOver = true
    await failing
  }
  const { checked, commits } = simulation.ledger
  const { given } = simulation.places
  t.diagnostic(`faults: ${JSON.stringify(Object.fromEntries(caused))}; ${commits} commits; ${given} places given`)
  t.diagnostic(`values seen: ${JSON.stringify(Object.fromEntries([...checked].sort()))}`)
  assert.ok(checked.size >= 15, JSON.stringify([...checked]))
  await checkReport(first, folder)
}

/** What the server reports is what the Python program makes of the audit log. */
async function checkReport({ send, admin }: SimulatedServer, folder: string): Promise<void> {
  const month = new Date().toISOString().slice(0, 7)
  const get = (path: string) => send('GET', path, { token: admin })
  await until('the server answers', 60_000, async () => {
    const reply = await get(`/admin/usage?month=${month}`).catch(() => undefined)
    return reply?.status === 200
  })
  const { body: report } = await get(`/admin/usage?month=${month}`)
  const csv = await get(`/admin/usage?month=${month}&format=csv&head=${report.head.seq}`)
  const { body: exported } = await get('/admin/audit/export')
  const file = join(folder, 'audit.ndjson')
  await writeFile(file, `${exported.split('\n').slice(0, report.head.seq).join('\n')}\n`)
  const python = spawnSync('python3', [REPORT, month, file], { encoding: 'utf8' })
  assert.equal(python.stderr, '')
  assert.equal(python.stdout, csv.body)
  assert.ok(report.rows.length >= 4, csv.body)
  for (const { product, peak } of report.rows) if (product === 'PLACES') assert.ok(peak <= 2, csv.body)
}
