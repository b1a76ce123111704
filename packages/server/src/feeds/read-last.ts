/** The newest messages of a choice of topics, without those that a reader may not see. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { FeedReads, StoredMessage } from './engine.ts'
import type { TopicChoice } from './feed.ts'

/** How many messages of a pattern are looked at for those that the reader may see. */
const MOST_LOOKED_AT = 16_000

export async function readLast(
  reads: FeedReads,
  choice: TopicChoice,
  count: number,
  isShown: (topic: string, seq: number) => boolean,
): Promise<readonly StoredMessage[]> {
  for (let wanted = count; ; wanted *= 4) {
    const found = await reads.readLast(choice, wanted)
    const shown = found.filter(({ topic, seq }) => isShown(topic, seq))
    if (shown.length >= count || found.length < wanted || wanted >= MOST_LOOKED_AT) return shown.slice(-count)
    await nextTurn()
  }
}
