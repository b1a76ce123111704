/** The controllers of a gateway by name. Finds the topic of a request. */
import { isPlatformScope } from 'gatehouse-protocol'
import { type Controller, type Need, refuse, type Topic } from '../topics/controller.ts'
import { COMMON_TOPICS } from './common.ts'

export class Controllers {
  readonly #fixed: readonly Controller[]
  #all: readonly Controller[] = []
  #byName = new Map<string, Map<string, Topic>>()

  constructor(controllers: readonly Controller[]) {
    this.#fixed = controllers
    const [twice] = this.setDeclared([])
    if (twice !== undefined) throw new Error(`Two streaming controllers are named ${twice}`)
  }

  all(): readonly Controller[] {
    return this.#all
  }

  /**
   * The controllers that are declared and can change at any time, in place of those before. Returns the names that others have already:
   * those controllers cannot be used.
   */
  setDeclared(controllers: readonly Controller[]): string[] {
    const byName = new Map<string, Map<string, Topic>>()
    const usable: Controller[] = []
    const twice: string[] = []
    for (const controller of [...this.#fixed, ...controllers]) {
      const { name, topics } = controller
      if (byName.has(name)) {
        twice.push(name)
        continue
      }
      byName.set(name, new Map([...Object.entries(COMMON_TOPICS), ...Object.entries(topics)]))
      usable.push(controller)
    }
    this.#byName = byName
    this.#all = usable
    return twice
  }

  /** Undefined where `topic` would throw. */
  find(controller: string, name: string): Topic | undefined {
    const topics = this.#byName.get(controller)
    return topics?.get(name) ?? topics?.get(`${name.slice(0, name.indexOf('/') + 1)}*`) ?? topics?.get('*')
  }

  /** The topic `*` stands for every other one. Throws the error reply if the controller or topic does not exist. */
  topic(controller: string, name: string): Topic {
    if (!this.#byName.has(controller)) throw refuse('Controller', controller)
    const topic = this.find(controller, name)
    if (topic === undefined) throw refuse('Operation.Unknown', name)
    return topic
  }

  /** The topics of each controller that a caller with these scopes can use, without the topics that all controllers share. */
  usableBy(scopes: ReadonlySet<string>): UsableController[] {
    return this.#all.flatMap(({ name, summary, topics }) => {
      const usable = Object.entries(topics).filter(([, { needs }]) => isMet(needs, scopes))
      return usable.length === 0 ? [] : [{ controller: name, summary, topics: usable.map(describeTopic) }]
    })
  }

  /** Every topic as `Controller/Topic`, the form used by the terminal client. */
  names(): string[] {
    return [...this.#byName].flatMap(([controller, topics]) =>
      [...topics.keys()].map((topic) => `${controller}/${topic}`),
    )
  }
}

/** As administrators and clients see it. */
export interface UsableController {
  readonly controller: string
  readonly summary: string
  readonly topics: readonly {
    readonly topic: string
    readonly summary: string
    readonly needs: string
    readonly actions: readonly ('publish' | 'subscribe')[]
  }[]
}

/** A signed-in caller has at least one scope of the platform. */
function isMet(needs: Need, scopes: ReadonlySet<string>): boolean {
  if (needs === 'nothing') return true
  return needs === 'identity' ? [...scopes].some(isPlatformScope) : scopes.has(needs)
}

function describeTopic([topic, { summary, needs, publish, subscription }]: readonly [string, Topic]) {
  const actions = [
    ...(publish === undefined ? [] : (['publish'] as const)),
    ...(subscription === undefined ? [] : (['subscribe'] as const)),
  ]
  return { topic, summary, needs, actions }
}
