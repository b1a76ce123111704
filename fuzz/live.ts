/** Runs the model of live queries on SQLite and PostgreSQL in turn: `node fuzz/live.ts [seconds] [seed] [engine]`. */
import { setTimeout as sleep } from 'node:timers/promises'
import { LiveModel, type ModelReport } from '../test/query/live/model.ts'
import { startNodes } from '../test/query/live/model-nodes.ts'
import { openPlace } from '../test/support/engines.ts'
import { stopOwnPostgres } from '../test/support/postgres.ts'

/** Steps of one database; then the next one is begun with the next seed. */
const STEPS = 400
const CLIENTS = 30

async function run(engine: 'sqlite' | 'postgres', seed: number, until: number): Promise<ModelReport> {
  const { place, leave } = await openPlace(engine)
  const nodes = await startNodes(place)
  try {
    const model = await LiveModel.open({ ...nodes, place, seed, clients: CLIENTS })
    try {
      for (let step = 1; step <= STEPS && Date.now() < until; step++) {
        await model.step()
        if (step % 50 === 0) await model.settle()
        if (step % 150 === 0) await model.replaceNodes(() => nodes.restart())
        if (step % 200 === 0) await model.flood()
        // Sometimes a result is evaluated, sent and taken before the next commit, mostly not.
        if (step % 40 < 5) await sleep(60)
      }
      await model.settle()
    } finally {
      await model.close()
    }
    return model.report
  } finally {
    await nodes.stop()
    await leave()
  }
}

const seconds = Number(process.argv[2] ?? 300)
const first = Number(process.argv[3] ?? Date.now() % 2 ** 31)
const only = process.argv[4]
const until = Date.now() + seconds * 1000
try {
  for (let seed = first; Date.now() < until; seed++) {
    for (const engine of ['sqlite', 'postgres'] as const) {
      if (Date.now() >= until || (only !== undefined && only !== engine)) continue
      console.log(`${engine}, seed ${seed}`)
      console.log(JSON.stringify(await run(engine, seed, until)))
    }
  }
} finally {
  await stopOwnPostgres()
}
