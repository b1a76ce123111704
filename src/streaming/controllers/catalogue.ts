/** All controllers of a gateway, by name: which topic a request means. */
import { type Controller, refuse, type Topic } from '../controller.ts'
import { topicKey } from '../hub.ts'
import { COMMON_TOPICS } from './common.ts'

/** The topic that is pushed to whenever the authority of a connection changes. */
export const IDENTIFY = { controller: 'Auth', topic: 'Identify', key: topicKey('Auth', 'Identify') } as const

export class Controllers {
  readonly #byName = new Map<string, Map<string, Topic>>()
  readonly #all: readonly Controller[]

  constructor(controllers: readonly Controller[]) {
    this.#all = controllers
    for (const { name, topics } of controllers) {
      if (this.#byName.has(name)) throw new Error(`Two streaming controllers are named ${name}`)
      this.#byName.set(name, new Map([...Object.entries(COMMON_TOPICS), ...Object.entries(topics)]))
    }
  }

  all(): readonly Controller[] {
    return this.#all
  }

  /** Throws what the client is told when there is no such controller or topic. */
  topic(controller: string, name: string): Topic {
    const topics = this.#byName.get(controller)
    if (topics === undefined) throw refuse('Controller', controller)
    const topic = topics.get(name) ?? topics.get(`${name.slice(0, name.indexOf('/') + 1)}*`)
    if (topic === undefined) throw refuse('Operation.Unknown', name)
    return topic
  }

  /** Every topic, as it is typed in the terminal client: `Controller/Topic`. */
  names(): string[] {
    return [...this.#byName].flatMap(([controller, topics]) =>
      [...topics.keys()].map((topic) => `${controller}/${topic}`),
    )
  }
}
