/** Feeds in NATS: what every engine has to do, on a real nats-server with JetStream. */
import { describe } from 'node:test'
import { openNatsFeeds } from '../../packages/server/src/feeds/nats/engine.ts'
import { startNats, whyWithoutNats } from '../support/nats-server.ts'
import { engineSuite } from './engine-suite.ts'

const skip = whyWithoutNats()

if (skip !== undefined) describe('the engine nats', { skip })
else engineSuite('nats', open, false)

async function open() {
  const server = await startNats()
  const openNode = () =>
    openNatsFeeds({
      url: server.url,
      isDeclared: async () => false,
      onError: (error) => {
        throw error
      },
    })
  return {
    engine: await openNode(),
    second: openNode,
    lacks: ['cuts of one topic'] as const,
    close: () => server.close(),
  }
}
