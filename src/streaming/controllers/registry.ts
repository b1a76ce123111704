/** The controllers of a gateway by name. Finds the topic of a request. */
import { type Controller, refuse, type Topic } from '../controller.ts'
import { COMMON_TOPICS } from './common.ts'

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

  /** Throws the error reply if the controller or topic does not exist. */
  topic(controller: string, name: string): Topic {
    const topics = this.#byName.get(controller)
    if (topics === undefined) throw refuse('Controller', controller)
    const topic = topics.get(name) ?? topics.get(`${name.slice(0, name.indexOf('/') + 1)}*`)
    if (topic === undefined) throw refuse('Operation.Unknown', name)
    return topic
  }

  /** Every topic as `Controller/Topic`, the form used by the terminal client. */
  names(): string[] {
    return [...this.#byName].flatMap(([controller, topics]) =>
      [...topics.keys()].map((topic) => `${controller}/${topic}`),
    )
  }
}
