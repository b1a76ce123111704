/** What a subscriber has seen of each topic when its access changes: that is not sent again, also where it is too young for it now. */
import type { FeedAccess } from './licences.ts'
import type { Start } from './subscription.ts'

/** Of the topics that the subscriber had access to. */
interface Seen {
  /** The number of the last message of a topic. */
  readonly last: (topic: string) => number
  readonly least: number
  readonly most: number
  /** Whether it is the same for all topics. */
  readonly isUniform: boolean
  /** Whether the subscriber had access to all topics. */
  readonly isWhole: boolean
}

export class Progress {
  static readonly none = new Progress(undefined)

  readonly #seen: Seen | undefined

  private constructor(seen: Seen | undefined) {
    this.#seen = seen
  }

  get isUniform(): boolean {
    return this.#seen?.isUniform ?? true
  }

  hasSeen(topic: string, seq: number): boolean {
    return this.#seen !== undefined && seq <= this.#seen.last(topic)
  }

  /** After a time with this access; `sent` says how far the topics with each delay are. */
  after(access: FeedAccess, sent: ReadonlyMap<number, number>): Progress {
    const { delays, isUniform, isPartial } = access
    const readSent = (topic: string): number => sent.get(access.delayFor(topic) ?? -1) ?? 0
    // What was to be opened has not been.
    if (sent.size === 0) return this
    const [least, most] = [Math.min(...sent.values()), Math.max(...sent.values())]
    const before = this.#seen
    // Until then, some topics are further than the others with their delay.
    if (before === undefined || delays.every((delay) => (sent.get(delay) ?? -1) >= before.most)) {
      const isSimple = isUniform && !isPartial
      const last = isSimple ? () => least : readSent
      return new Progress({ last, least, most, isUniform: isSimple, isWhole: !isPartial })
    }
    return new Progress({
      last: (topic) => Math.max(readSent(topic), before.last(topic)),
      least: Math.min(least, before.least),
      most: Math.max(most, before.most),
      isUniform: false,
      isWhole: !isPartial && before.isWhole,
    })
  }

  /** Where a subscription begins that goes on after it; undefined if nothing was seen. What was not shown before begins with its state. */
  start(keep: 'latest' | 'all'): Start | undefined {
    if (this.#seen === undefined) return undefined
    const { isWhole, least } = this.#seen
    return { kind: 'after', seq: isWhole || keep === 'all' ? least : 0 }
  }
}
