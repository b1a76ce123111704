/** A simulation of readers, a writer and an operator: no reader sees a value beyond its horizon, by no way, and none is lost within it. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { ADMIN } from '../support/demo-user.ts'
import { IN_LONG_RUNS, IS_LONG_RUN, onEveryEngine, openPlace } from '../support/engines.ts'
import { agentToken } from '../support/mcp.ts'
import { stopOwnPostgres } from '../support/postgres.ts'
import { startTestServer } from '../support/server.ts'
import { atNode, type LicenceServer, startLicenceServer } from './licence-server.ts'
import { SIMULATED } from './simulation/declared.ts'
import { createRandom, Simulation } from './simulation/simulation.ts'

const SEEDS = Number(process.env.LICENCE_SEEDS ?? (IS_LONG_RUN ? 8 : 1))
const SECONDS = 8
const FLAGS = {
  ...{ '--wire-port': '0', '--limit-mcp': '', '--limit-query': '', '--access-token-lifetime': '3600' },
  ...{ '--limit-stream': '', '--limit-feeds': '', '--stream-max-connections-per-user': '100' },
}

async function simulate(servers: readonly LicenceServer[], seed: number, seconds: number, t: TestContext) {
  const [first] = servers
  assert.ok(first)
  const agents = { alice: await agentToken(first), admin: await agentToken(first, ADMIN) }
  const simulation = new Simulation({ servers, agents, random: createRandom(seed), seed })
  if (seed === 1) await simulation.prepare()
  await simulation.run(seconds * 1_000)
  const { checked, commits } = simulation.ledger
  t.diagnostic(`${commits} commits; values seen: ${JSON.stringify(Object.fromEntries([...checked].sort()))}`)
  assert.ok(checked.size >= 15, JSON.stringify([...checked]))
  assert.ok(simulation.places.given > 0)
}

onEveryEngine('licences, simulated', (at) => {
  for (let seed = 1; seed <= SEEDS; seed++)
    test(`seed ${seed}`, async (t) => {
      const server = await startLicenceServer(at(), SIMULATED, { flags: FLAGS })
      try {
        await simulate([server], seed, SECONDS, t)
      } finally {
        await server.stop()
      }
    })
})

test('two nodes on PostgreSQL', IN_LONG_RUNS, async (t) => {
  const { place, leave } = await openPlace('postgres')
  const folder = await mkdtemp(join(tmpdir(), 'gatehouse-node-'))
  const flags = { '--demo': 'true', '--master-key': randomBytes(32).toString('base64'), '--issuer': 'http://localhost' }
  const first = await startLicenceServer(place, SIMULATED, { flags: { ...FLAGS, ...flags } })
  const second = await startTestServer(
    { ...place, dataFolder: folder },
    { flags: { ...FLAGS, ...flags, '--wire-port': 'off' } },
  )
  try {
    await simulate([first, atNode(first, second)], 1, 4 * SECONDS, t)
  } finally {
    await second.stop()
    await first.stop()
    await rm(folder, { recursive: true, force: true })
    await leave()
    await stopOwnPostgres()
  }
})
