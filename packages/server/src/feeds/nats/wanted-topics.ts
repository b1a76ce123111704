/** Whether a topic is among those that the subscribers of this node want. */
import type { Follower } from '../engine.ts'

export class WantedTopics {
  readonly #follower: Follower
  #topics: ReadonlySet<string> = new Set()
  /** Those that end with a slash, and the empty one. */
  #folders: ReadonlySet<string> = new Set()
  #others: readonly string[] = []
  #isStale = true

  constructor(follower: Follower) {
    this.#follower = follower
  }

  /** Read again before the next message, once for many changes. */
  changed(): void {
    this.#isStale = true
  }

  has(topic: string): boolean {
    if (this.#isStale) this.#read()
    if (this.#topics.has(topic)) return true
    if (this.#folders.size > 0) {
      if (this.#folders.has('')) return true
      for (let slash = topic.indexOf('/'); slash >= 0; slash = topic.indexOf('/', slash + 1))
        if (this.#folders.has(topic.slice(0, slash + 1))) return true
    }
    return this.#others.some((prefix) => topic.startsWith(prefix))
  }

  #read(): void {
    const { topics, prefixes } = this.#follower.wanted
    this.#topics = topics
    const isFolder = (prefix: string): boolean => prefix === '' || prefix.endsWith('/')
    this.#folders = new Set([...prefixes].filter(isFolder))
    this.#others = [...prefixes].filter((prefix) => !isFolder(prefix))
    this.#isStale = false
  }
}
