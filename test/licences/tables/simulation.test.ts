/** A simulation of readers, a writer and an operator: no reader sees a value beyond its horizon, by no way, and none is lost within it. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { IS_LONG_RUN, onEveryEngine } from '../../support/engines.ts'
import { startLicenceServer } from '../licence-server.ts'
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
      const simulation = new Simulation([server], createRandom(seed))
      try {
        if (seed === 1) await simulation.prepare()
        await simulation.run(SECONDS * 1_000)
        assert.ok(simulation.checked.size >= 8, JSON.stringify([...simulation.checked]))
      } finally {
        await server.stop()
      }
    })
})
