/** What the gateway counts; the metrics page reads these numbers. */
export class StreamCounters {
  messagesIn = 0
  messagesOut = 0
  /** Pushes that a newer one of the same topic replaced for a slow reader. */
  messagesCoalesced = 0
  messagesLimited = 0
  /** Error replies by code. */
  readonly errors = new Map<string, number>()
  signInsAccepted = 0
  signInsRejected = 0
  sessionsDisplaced = 0
  connectionsOpened = 0
  /** Closed connections by close code. */
  readonly closes = new Map<number | 'other', number>()
  /** Upgrades that were refused, by the code of the problem. */
  readonly refusals = new Map<string, number>()
}

export function increment<Key>(counts: Map<Key, number>, key: Key): void {
  counts.set(key, (counts.get(key) ?? 0) + 1)
}
