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

type Part = (use: () => Workbench) => void

/** What readers and publishers in real time rely on, whether others have a delay or not. */
export const REALTIME: readonly Part[] = [declareAppends, declareReads, declareTopics, declareFollowing, declareModel]
export const EVERY_PART: readonly Part[] = [...REALTIME, declareBounds, declareDelays]

/** `open` is called once; every test declares feeds of its own. */
export function engineSuite(
  name: string,
  open: () => Promise<OpenedEngine>,
  parts: readonly Part[] = EVERY_PART,
): void {
  describe(`the engine ${name}`, () => {
    let bench: Workbench | undefined
    before(async () => {
      bench = await Workbench.open(await open())
    })
    const use = (): Workbench => {
      if (bench === undefined) throw new Error('The engine is used before the hooks ran')
      return bench
    }
    for (const declare of parts) declare(use)
    after(() => bench?.close())
  })
}
