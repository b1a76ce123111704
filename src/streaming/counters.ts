/** What the gateway counts; the metrics page reads these numbers. */
export class StreamCounters {
  messagesIn = 0
  messagesOut = 0
  /** Pushes that a newer one of the same topic replaced for a slow reader. */
  messagesCoalesced = 0
  /** Error replies by code. */
  readonly errors = new Map<string, number>()
  /** Error replies `Limited` by the limit that was met. */
  readonly limited = new Map<string, number>()
  signInsAccepted = 0
  signInsRejected = 0
  sessionsDisplaced = 0
  connectionsOpened = 0
  /** Closed connections by close code. */
  readonly closes = new Map<number | 'other', number>()
  /** Upgrades that were refused, by the code of the problem. */
  readonly refusals = new Map<string, number>()
}

/** The limits of the gateway that a client is told of; those that a controller makes up count as "other". */
const LIMITS: ReadonlySet<string> = new Set([
  'messages per second',
  'subscriptions',
  'connections per user',
  'rejected sign-ins',
  'publications before the state',
])

export function countError({ errors, limited }: StreamCounters, code: string, context: string): void {
  increment(errors, code)
  if (code === 'Limited') increment(limited, LIMITS.has(context) ? context : 'other')
}

export function increment<Key>(counts: Map<Key, number>, key: Key): void {
  counts.set(key, (counts.get(key) ?? 0) + 1)
}
