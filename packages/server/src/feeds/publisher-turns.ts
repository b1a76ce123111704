/** Which of the requests that wait are written next, together: no publisher waits behind the flood of another. */

export interface QueuedRequest {
  readonly publisher: string
  /** What it costs to write: its messages, or its characters. */
  readonly size: number
}

/** The part of a whole group that is written in the turn of those who have little: they wait for each other too. */
const LIGHT_SHARE = 1 / 5

/**
 * Groups take turns while several publishers wait: one has the requests that have waited longest, the next those of the publishers with the
 * least waiting. So a publisher of single messages waits for one group of a flood, and the flood is written in every other group.
 */
export class PublisherTurns {
  #isLightTurn = false

  /** At most `most` in all, but at least one request. Those of one publisher keep their order. */
  choose<Request extends QueuedRequest>(waiting: readonly Request[], most: number): readonly Request[] {
    const totals = new Map<string, number>()
    for (const { publisher, size } of waiting) totals.set(publisher, (totals.get(publisher) ?? 0) + size)
    const isLightTurn = this.#isLightTurn && totals.size > 1
    this.#isLightTurn = !isLightTurn
    if (!isLightTurn) return takeUpTo(waiting, most)
    const total = ({ publisher }: Request): number => totals.get(publisher) ?? 0
    return takeUpTo(
      waiting.toSorted((a, b) => total(a) - total(b)),
      most * LIGHT_SHARE,
    )
  }
}

/** What is left of the requests that waited. */
export function withoutChosen<Request>(waiting: readonly Request[], chosen: readonly Request[]): Request[] {
  if (chosen.length === waiting.length) return []
  const taken = new Set(chosen)
  return waiting.filter((request) => !taken.has(request))
}

function takeUpTo<Request extends QueuedRequest>(requests: readonly Request[], most: number): readonly Request[] {
  let sum = 0
  const end = requests.findIndex(({ size }, index) => {
    sum += size
    return index > 0 && sum > most
  })
  return end < 0 ? requests : requests.slice(0, end)
}
