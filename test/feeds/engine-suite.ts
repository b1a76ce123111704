/** What every engine of feeds has to do: the same tests for SQLite, PostgreSQL and NATS. */
import { after, before, describe } from 'node:test'
import { declareAppends } from './suite/appends.ts'
import { declareBounds } from './suite/bounds.ts'
import { declareDelays } from './suite/delays.ts'
import { type OpenedEngine, Workbench } from './suite/engine-under-test.ts'
import { declareFollowing } from './suite/following.ts'
import { declareModel } from './suite/model.ts'
import { declareReads } from './suite/reads.ts'
import { declareTopics } from './suite/topics.ts'

/** `open` is called once; every test declares feeds of its own. */
export function engineSuite(name: string, open: () => Promise<OpenedEngine>, hasDelays = true): void {
  describe(`the engine ${name}`, () => {
    let bench: Workbench | undefined
    before(async () => {
      bench = await Workbench.open(await open())
    })
    const use = (): Workbench => {
      if (bench === undefined) throw new Error('The engine is used before the hooks ran')
      return bench
    }
    declareAppends(use)
    declareReads(use)
    declareTopics(use)
    declareBounds(use)
    declareFollowing(use)
    declareModel(use)
    if (hasDelays) declareDelays(use)
    after(() => bench?.close())
  })
}
