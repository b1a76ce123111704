/** The controller for streaming benchmarks: an echo, and a request that publishes to a topic. */
import type { Controller, Publisher } from '../packages/server/src/streaming/topics/controller.ts'

let publisher: Publisher | undefined

const bench: Controller = {
  name: 'Bench',
  summary: 'Echoes and publishes.',
  topics: {
    Echo: { summary: 'Replies with the data.', needs: 'identity', publish: ({ data }) => data },
    All: { summary: 'The data given to Publish.', needs: 'identity', subscription: { slow: 'latest' } },
    Publish: {
      summary: 'Publishes the data.',
      needs: 'identity',
      publish({ data }) {
        publisher?.publish('All', data)
        return 'ok'
      },
    },
  },
  start(started) {
    publisher = started
    return undefined
  },
}

export default bench
