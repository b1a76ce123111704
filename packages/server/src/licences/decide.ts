/** What a user or client may use of a product at a moment, and why. Pure. */
import type { EntitlementKind, HeldEntitlement, Level } from '../store/licences/entitlements.ts'
import type { Acceptance, Trial } from '../store/licences/licences.ts'
import type { Access, Agreement, Product } from '../store/licences/products.ts'

/** What gave the access, or why there is none, or not more than for all. */
export type Reason = Level | 'trial' | 'default' | 'none' | 'not_yet' | 'expired' | 'disabled' | 'agreement'

export interface Decision {
  readonly access: Access
  readonly reason: Reason
  /** How the report counts it. */
  readonly kind: EntitlementKind
  /** Milliseconds: until when the entitlement holds; undefined without an end. */
  readonly until: number | undefined
}

export interface Facts {
  readonly product: Product
  /** That of the product; undefined also where it names one that does not exist, which nobody can accept. */
  readonly agreement: Agreement | undefined
  /** Of this product, whatever the time. */
  readonly held: readonly HeldEntitlement[]
  readonly trial: Trial | undefined
  /** By the user or client, of any agreement. */
  readonly acceptances: readonly Acceptance[]
  /** A disabled user or client has nothing. */
  readonly isDisabled: boolean
  readonly now: number
}

/** The nearest first. */
const LEVELS = ['user', 'client', 'trial', 'attribute', 'role'] as const
const RANKS: Readonly<Record<Access, number>> = { none: 0, delayed: 1, realtime: 2 }

export function isAtLeast(access: Access, wanted: Access): boolean {
  return RANKS[access] >= RANKS[wanted]
}

/** The nearest level with an entitlement that is valid now decides; in a level the highest access. */
export function decide(facts: Facts): Decision {
  const { product, isDisabled, now } = facts
  if (!product.enabled) return nothing('disabled')
  if (isDisabled) return nothing('none')
  const entries = collect(facts)
  const valid = entries.filter((entry) => isValid(entry, now))
  const nearest = LEVELS.find((level) => valid.some((entry) => entry.level === level))
  const [best] = valid.filter(({ level }) => level === nearest).sort(compare)
  if (best === undefined) return byDefault(product, missedReason(entries, now))
  if (best.access === 'none') return nothing('none')
  if (!isAccepted(facts)) return byDefault(product, { reason: 'agreement', access: best.access })
  const { access, level, kind, until } = best
  if (access === 'delayed' && product.delay === undefined) return nothing('none')
  return { access, reason: level, kind, until }
}

/** When a period begins or ends, or the grace of an agreement: until then the decision stays. */
export function nextChange(facts: Facts): number {
  const { agreement, acceptances, now } = facts
  const bounds = collect(facts).flatMap(({ from = -Infinity, until = Infinity }) => [from, until])
  if (agreement !== undefined) bounds.push(acceptedUntil(agreement, acceptances))
  return Math.min(Infinity, ...bounds.filter((bound) => bound > now))
}

interface Entry {
  readonly level: (typeof LEVELS)[number]
  readonly access: Access
  readonly kind: EntitlementKind
  readonly from: number | undefined
  readonly until: number | undefined
}

function collect({ held, trial }: Facts): Entry[] {
  if (trial === undefined) return [...held]
  return [...held, { ...trial, level: 'trial', access: 'realtime', kind: 'trial' }]
}

function isValid({ from = -Infinity, until = Infinity }: Pick<Entry, 'from' | 'until'>, now: number): boolean {
  return from <= now && now < until
}

/** The highest access, then what is billed, then what lasts longest. */
function compare(a: Entry, b: Entry): number {
  const kinds: readonly EntitlementKind[] = ['billable', 'trial', 'exempt']
  const [aEnd = Infinity, bEnd = Infinity] = [a.until, b.until]
  return (
    RANKS[b.access] - RANKS[a.access] ||
    kinds.indexOf(a.kind) - kinds.indexOf(b.kind) ||
    (aEnd === bEnd ? 0 : bEnd > aEnd ? 1 : -1)
  )
}

interface Missed {
  readonly reason: 'none' | 'not_yet' | 'expired' | 'agreement'
  readonly access: Access
}

/** What would serve at another time: one that ended before one that has not begun. */
function missedReason(entries: readonly Entry[], now: number): Missed {
  const ended = entries.filter(({ until = Infinity }) => until <= now).sort(compare)
  const [missed = entries.filter(({ until = Infinity }) => until > now).sort(compare)[0]] = ended
  if (missed === undefined || missed.access === 'none') return { reason: 'none', access: 'none' }
  return { reason: missed === ended[0] ? 'expired' : 'not_yet', access: missed.access }
}

/** The reason says what is missing, where that would give more than all have. */
function byDefault({ byDefault: access, delay }: Product, missed: Missed): Decision {
  if (access === 'none' || (access === 'delayed' && delay === undefined)) return nothing(missed.reason)
  const isMore = RANKS[missed.access] > RANKS[access]
  return { access, reason: isMore ? missed.reason : 'default', kind: 'billable', until: undefined }
}

function nothing(reason: Reason): Decision {
  return { access: 'none', reason, kind: 'billable', until: undefined }
}

function isAccepted({ product, agreement, acceptances, now }: Facts): boolean {
  if (product.agreement === undefined) return true
  return agreement !== undefined && acceptedUntil(agreement, acceptances) > now
}

/** Milliseconds: until when what was accepted counts; 0 if nothing counts. */
export function acceptedUntil(
  { id, version, grace, replaced }: Agreement,
  acceptances: readonly Pick<Acceptance, 'agreement' | 'version'>[],
): number {
  const versions = new Set(acceptances.filter(({ agreement }) => agreement === id).map((each) => each.version))
  if (versions.has(version)) return Infinity
  return Math.max(0, ...replaced.filter((each) => versions.has(each.version)).map(({ at }) => at + grace))
}
