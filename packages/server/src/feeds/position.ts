/** A Position: the place of a message in one topic, or pattern, of one feed. Clients send it back to resume after it. */
import { hash } from 'node:crypto'
import { refuse } from './refusals.ts'

/** `seqs` is one number, or for each delay of its topics one: `DELAY.NUMBER`, joined with `_`. */
const POSITION =
  /^(?<epoch>[0-9A-Za-z]{1,16})-(?<seqs>[0-9a-z]{1,11}|[0-9a-z]{1,11}\.[0-9a-z]{1,11}(?:_[0-9a-z]{1,11}\.[0-9a-z]{1,11}){0,7})-(?<tag>[\w-]{8})$/

/** The positions of a topic or pattern. They are not secret: they open nothing that their holder could not read anyway. */
export class Positions {
  readonly #tag: string

  constructor(feed: string, topicOrPattern: string) {
    this.#tag = hash('sha256', `${feed}\n${topicOrPattern}`, 'base64url').slice(0, 8)
  }

  write(epoch: string, seq: number): string {
    return `${epoch}-${seq.toString(36)}-${this.#tag}`
  }

  /** Of a pattern whose topics the caller has with several delays: how far each of them is. */
  writeEach(epoch: string, seqs: ReadonlyMap<number, number>): string {
    return `${epoch}-${[...seqs].map(([delay, seq]) => writeSeq(delay, seq)).join('_')}-${this.#tag}`
  }

  /** The number of the message, for topics with this delay; undefined if it is of another epoch, so that nothing is known of what followed it. */
  read(text: string, epoch: string, delay = 0): number | undefined {
    const found = POSITION.exec(text)?.groups
    const seq = readSeq(found?.seqs ?? '', delay)
    if (found?.tag !== this.#tag || !Number.isSafeInteger(seq))
      throw refuse('feed.bad_position', 'This is not a position of this topic of this feed')
    return found.epoch === epoch ? seq : undefined
  }
}

/** The position of a message with this delay, with how far the topics with other delays are, as `writeSeqs` has it. */
export function addSeqs(position: string, delay: number, others: string): string {
  const [epoch = '', seq = ''] = position.split('-', 2)
  const tag = position.slice(epoch.length + seq.length + 2)
  return `${epoch}-${delay.toString(36)}.${seq}_${others}-${tag}`
}

export function writeSeqs(seqs: Iterable<readonly [delay: number, seq: number]>): string {
  return Array.from(seqs, ([delay, seq]) => writeSeq(delay, seq)).join('_')
}

function writeSeq(delay: number, seq: number): string {
  return `${delay.toString(36)}.${seq.toString(36)}`
}

/** Of a delay that it does not have the lowest number: nothing is passed over. `text` is as `writeSeqs` has it. */
export function readSeq(text: string, delay: number): number {
  if (!text.includes('.')) return Number.parseInt(text, 36)
  const seqs = text.split('_').map((each) => {
    const [own = '', seq = ''] = each.split('.')
    return { delay: Number.parseInt(own, 36), seq: Number.parseInt(seq, 36) }
  })
  return seqs.find((each) => each.delay === delay)?.seq ?? Math.min(...seqs.map(({ seq }) => seq))
}
