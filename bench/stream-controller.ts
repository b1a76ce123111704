/** The controller of the streaming measurements: an echo, and a topic that a request publishes to. */
import type { Controller, Stage } from '../src/streaming/controller.ts'

let stage: Stage | undefined

const bench: Controller = {
  name: 'Bench',
  summary: 'Echoes and publishes.',
  topics: {
    Echo: { summary: 'Answers with the data.', needs: 'identity', publish: ({ data }) => data },
    All: { summary: 'What Publish is given.', needs: 'identity', subscription: { slow: 'latest' } },
    Publish: {
      summary: 'Publishes the data.',
      needs: 'identity',
      publish({ data }) {
        stage?.publish('All', data)
        return 'ok'
      },
    },
  },
  start(given) {
    stage = given
    return undefined
  },
}

export default bench
