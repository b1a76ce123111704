/** A simulation of readers, a writer and an operator: no reader sees a value beyond its horizon, by no way, and none is lost within it. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { IN_LONG_RUNS, IS_LONG_RUN, onEveryEngine, openPlace } from '../../support/engines.ts'
import { stopOwnPostgres } from '../../support/postgres.ts'
import { startTestServer } from '../../support/server.ts'
import { atNode, startLicenceServer } from '../licence-server.ts'
import { SIMULATED, Simulation } from './simulation.ts'

/** Repeatable. */
function createRandom(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
}

const SEEDS = IS_LONG_RUN ? 50 : 1
const SECONDS = 8

onEveryEngine('licensed tables, simulated', (at) => {
  for (let seed = 1; seed <= SEEDS; seed++)
    test(`seed ${seed}`, async () => {
      const server = await startLicenceServer(at(), SIMULATED, {
        flags: { '--wire-port': '0', '--stream-max-connections-per-user': '100' },
      })
      const simulation = new Simulation([server], createRandom(seed), seed)
      try {
        if (seed === 1) await simulation.prepare()
        await simulation.run(SECONDS * 1_000)
        assert.ok(simulation.checked.size >= 8, JSON.stringify([...simulation.checked]))
      } finally {
        await server.stop()
      }
    })
})

test('two nodes on PostgreSQL', IN_LONG_RUNS, async () => {
  const { place, leave } = await openPlace('postgres')
  const folder = await mkdtemp(join(tmpdir(), 'gatehouse-node-'))
  const flags = { '--demo': 'true', '--master-key': randomBytes(32).toString('base64'), '--issuer': 'http://localhost' }
  const first = await startLicenceServer(place, SIMULATED, { flags: { ...flags, '--wire-port': '0' } })
  const second = await startTestServer({ ...place, dataFolder: folder }, { flags })
  const simulation = new Simulation([first, atNode(first, second)], createRandom(1))
  try {
    await simulation.prepare()
    await simulation.run(3 * SECONDS * 1_000)
    assert.ok(simulation.checked.size >= 8, JSON.stringify([...simulation.checked]))
  } finally {
    await second.stop()
    await first.stop()
    await rm(folder, { recursive: true, force: true })
    await leave()
    await stopOwnPostgres()
  }
})
