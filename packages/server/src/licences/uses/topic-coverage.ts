/** Which products cover the topics of a feed or controller. */
import type { ControllerCoverage, FeedCoverage } from '../../store/licences/coverage.ts'
import type { Product } from '../../store/licences/products.ts'

/** A topic, or the topics that begin with a prefix. */
export type TopicRange =
  | { readonly kind: 'topic'; readonly topic: string }
  | { readonly kind: 'prefix'; readonly prefix: string }

/** The topics of a range by the products that cover them. */
export interface CoveredParts {
  /** The products of each part: any of them opens it. A part that none covers is nobody's. */
  readonly parts: readonly (readonly string[])[]
  /** Topics and patterns of each part: of those that overlap, the longest one counts. */
  readonly topics: readonly (readonly string[])[]
  /** The index of the part of a topic within the range. */
  find(topic: string): number
}

/** No topic has it: it stands for the topics that are not named. */
const UNNAMED = '\0'

export class TopicCoverage {
  /** Products that cover all topics. */
  readonly #whole = new Set<string>()
  readonly #others = new Set<string>()
  readonly #topics = new Map<string, Set<string>>()
  /** By what the topics of a pattern begin with. */
  readonly #prefixes = new Map<string, Set<string>>()

  add(product: string, topics: FeedCoverage['topics']): void {
    if (topics === undefined) this.#whole.add(product)
    else if (topics === 'others') this.#others.add(product)
    else
      for (const topic of topics)
        if (topic.endsWith('*')) addTo(this.#prefixes, topic.slice(0, -1), product)
        else addTo(this.#topics, topic, product)
  }

  /** In order of their names. */
  productsFor(topic: string): readonly string[] {
    const named = new Set(this.#topics.get(topic))
    let isNamed = named.size > 0
    const take = (products: Iterable<string> | undefined): void => {
      for (const product of products ?? []) {
        named.add(product)
        isNamed = true
      }
    }
    take(this.#prefixes.get(''))
    for (let slash = topic.indexOf('/'); slash >= 0; slash = topic.indexOf('/', slash + 1))
      take(this.#prefixes.get(topic.slice(0, slash + 1)))
    if (!isNamed) take(this.#others)
    take(this.#whole)
    return [...named].sort()
  }

  split(range: TopicRange): CoveredParts {
    if (range.kind === 'topic')
      return { parts: [this.productsFor(range.topic)], topics: [[range.topic]], find: () => 0 }
    const { prefix } = range
    const prefixes = new Set([prefix, ...[...this.#prefixes.keys()].filter((each) => each.startsWith(prefix))])
    const samples = [
      ...Array.from(prefixes, (each) => ({ name: `${each}*`, topic: each + UNNAMED })),
      ...[...this.#topics.keys()].filter((topic) => topic.startsWith(prefix)).map((topic) => ({ name: topic, topic })),
    ]
    const parts: (readonly string[])[] = []
    const topics: string[][] = []
    const indexes = new Map<string, number>()
    for (const { name, topic } of samples) {
      const products = this.productsFor(topic)
      const key = products.join('\n')
      const index = indexes.get(key) ?? parts.length
      indexes.set(key, index)
      parts[index] = products
      topics[index] = [...(topics[index] ?? []), name]
    }
    if (parts.length === 1) return { parts, topics, find: () => 0 }
    return { parts, topics, find: (topic) => indexes.get(this.productsFor(topic).join('\n')) ?? 0 }
  }
}

export type Named = 'feed' | 'controller'

/** Of all feeds, or controllers, that products name. */
export function topicCoverages(products: Iterable<Product>, kind: Named): Map<string, TopicCoverage> {
  const coverages = new Map<string, TopicCoverage>()
  for (const { name, covers } of products)
    for (const coverage of covers) {
      const covered = readCoverage(coverage, kind)
      if (covered === undefined) continue
      const known = coverages.get(covered.name) ?? new TopicCoverage()
      coverages.set(covered.name, known)
      known.add(name, covered.topics)
    }
  return coverages
}

function readCoverage(
  coverage: Product['covers'][number],
  kind: Named,
): { readonly name: string; readonly topics: (FeedCoverage | ControllerCoverage)['topics'] } | undefined {
  if (kind === 'feed' && 'feed' in coverage) return { name: coverage.feed, topics: coverage.topics }
  if (kind === 'controller' && 'controller' in coverage) return { name: coverage.controller, topics: coverage.topics }
  return undefined
}

function addTo(map: Map<string, Set<string>>, key: string, product: string): void {
  const known = map.get(key)
  if (known === undefined) map.set(key, new Set([product]))
  else known.add(product)
}
