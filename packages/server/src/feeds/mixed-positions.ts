/** Positions of messages to subscribers whose topics have several delays: each says how far the topics with every delay are. */
import type { FeedMessage } from './message.ts'
import { addSeqs, writeSeqs } from './position.ts'

/** Subscribers that are as far as each other share messages, and so their encoded form. */
const shared = new WeakMap<FeedMessage, Map<string, FeedMessage>>()

/** The message with such a position. `others` are the numbers that the topics with other delays have reached. */
export function mixPosition(message: FeedMessage, delay: number, others: ReadonlyMap<number, number>): FeedMessage {
  if (message.position === undefined || others.size === 0) return message
  const seqs = writeSeqs(others)
  const mixed = shared.get(message) ?? new Map<string, FeedMessage>()
  shared.set(message, mixed)
  const known = mixed.get(seqs)
  if (known !== undefined) return known
  const added = { ...message, position: addSeqs(message.position, delay, seqs) }
  mixed.set(seqs, added)
  return added
}
