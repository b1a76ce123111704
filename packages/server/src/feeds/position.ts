/** A Position: the place of a message in one topic, or pattern, of one feed. Clients send it back to resume after it. */
import { hash } from 'node:crypto'
import { refuse } from './refusals.ts'

const POSITION = /^(?<epoch>[0-9A-Za-z]{1,16})-(?<seq>[0-9a-z]{1,11})-(?<tag>[\w-]{8})$/

/** The positions of a topic or pattern. They are not secret: they open nothing that their holder could not read anyway. */
export class Positions {
  readonly #tag: string

  constructor(feed: string, topicOrPattern: string) {
    this.#tag = hash('sha256', `${feed}\n${topicOrPattern}`, 'base64url').slice(0, 8)
  }

  write(epoch: string, seq: number): string {
    return `${epoch}-${seq.toString(36)}-${this.#tag}`
  }

  /** The number of the message; undefined if it is of another epoch, so that nothing is known of what followed it. */
  read(text: string, epoch: string): number | undefined {
    const found = POSITION.exec(text)?.groups
    const seq = Number.parseInt(found?.seq ?? '', 36)
    if (found?.tag !== this.#tag || !Number.isSafeInteger(seq))
      throw refuse('feed.bad_position', 'This is not a position of this topic of this feed')
    return found.epoch === epoch ? seq : undefined
  }
}
