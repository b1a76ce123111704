/** Feeds in NATS: what every engine has to do, on a real nats-server with JetStream. */
import { describe } from 'node:test'
import type { FeedEngine } from '../../packages/server/src/feeds/engine.ts'
import { type NatsFeedsOptions, openNatsFeeds } from '../../packages/server/src/feeds/nats/engine.ts'
import { startNats, whyWithoutNats } from '../support/nats-server.ts'
import { engineSuite, REALTIME } from './engine-suite.ts'
import { declareBounds } from './suite/bounds.ts'
import { declareDelays } from './suite/delays.ts'
import type { OpenedEngine } from './suite/engine-under-test.ts'

const HOUR = 3_600_000
const skip = whyWithoutNats()

if (skip !== undefined) describe('the engine nats', { skip })
else {
  engineSuite('nats', open, [...REALTIME, declareBounds])
  engineSuite('nats, where other readers have a delay', openWithDelay, REALTIME)
  engineSuite('nats, with a clock of its own', openWithClock, [declareDelays])
}

async function open(options: Partial<NatsFeedsOptions> = {}, wrap = (engine: FeedEngine) => engine) {
  const server = await startNats()
  const openNode = async () =>
    wrap(
      await openNatsFeeds({
        url: server.url,
        isDeclared: async () => false,
        onError: (error) => {
          throw error
        },
        ...options,
      }),
    )
  return {
    engine: await openNode(),
    second: openNode,
    lacks: ['cuts of one topic'] as const,
    close: () => server.close(),
  }
}

/** Every feed has one, which nobody in the tests has. */
function openWithDelay(): Promise<OpenedEngine> {
  return open({}, (engine) => ({ ...engine, open: (feed) => engine.open(feed, [HOUR]) }))
}

/** Fifteen minutes would be too long otherwise. */
async function openWithClock(): Promise<OpenedEngine> {
  let now = Date.now()
  const clock = () => now
  const time = { now: async () => now, of: ({ time }: { time: number }) => time }
  const opened = await open({ clock, time })
  return {
    ...opened,
    advance(milliseconds) {
      now += milliseconds
    },
  }
}
