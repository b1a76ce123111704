/** The definition of a feed while it is typed, and the request that it becomes. */
import { demandedNumber, NO_DEMAND, readDemand, type SignInDemand } from '../../../ui/index.ts'
import { typedWhole } from '../../../ui/number.ts'
import type { FeedDefinition } from './feed.ts'

/** Empty texts stand for defaults. */
export interface Draft {
  readonly name: string
  readonly description: string
  readonly class: string
  readonly read: string
  readonly write: string
  readonly readDemand: SignInDemand
  readonly writeDemand: SignInDemand
  readonly keep: 'latest' | 'all'
  readonly hasHistory: boolean
  readonly historyMessages: string
  readonly historyTime: string
  readonly stateTime: string
  readonly messageBytes: string
  readonly topics: string
  readonly bytes: string
  readonly rate: string
  readonly natsSubject: string
}

export const EMPTY_DRAFT: Draft = {
  ...{ name: '', description: '', class: 'Channel', read: 'identity', write: 'Platform/Admin', keep: 'latest' },
  ...{ readDemand: NO_DEMAND, writeDemand: NO_DEMAND },
  ...{ hasHistory: false, historyMessages: '1000', historyTime: '1 hour', stateTime: '' },
  ...{ messageBytes: '', topics: '', bytes: '', rate: '', natsSubject: '' },
}

/** Of members that are empty, as the server has them. */
export const DEFAULTS = { messageBytes: '65536', topics: '100000', bytes: '1073741824', rate: '100000' } as const

export function draftFeed(feed: FeedDefinition): Draft {
  const { history } = feed
  return {
    ...EMPTY_DRAFT,
    ...{ name: feed.name, description: feed.description ?? '', class: feed.class, read: feed.read, write: feed.write },
    readDemand: readDemand(feed.require_acr, feed.require_age),
    writeDemand: readDemand(feed.write_require_acr, feed.write_require_age),
    ...{ keep: feed.keep, hasHistory: history !== undefined, stateTime: feed.state_time ?? '' },
    ...(history && { historyMessages: String(history.messages), historyTime: history.time }),
    ...{ messageBytes: String(feed.message_bytes), topics: String(feed.topics) },
    ...{ bytes: String(feed.bytes), rate: String(feed.rate), natsSubject: feed.nats_subject ?? '' },
  }
}

/** A JSON merge patch without the name; null is the default. The server says what is wrong with a value. */
export function buildPatch(draft: Draft): Readonly<Record<string, unknown>> {
  return {
    description: textOrNull(draft.description),
    class: draft.class,
    read: draft.read,
    write: draft.write,
    require_acr: demandedNumber(draft.readDemand.acr),
    require_age: demandedNumber(draft.readDemand.age),
    write_require_acr: demandedNumber(draft.writeDemand.acr),
    write_require_age: demandedNumber(draft.writeDemand.age),
    keep: draft.keep,
    history: draft.hasHistory
      ? { messages: numberOrNull(draft.historyMessages), time: textOrNull(draft.historyTime) }
      : null,
    state_time: draft.keep === 'latest' ? textOrNull(draft.stateTime) : null,
    message_bytes: numberOrNull(draft.messageBytes),
    topics: numberOrNull(draft.topics),
    bytes: numberOrNull(draft.bytes),
    rate: numberOrNull(draft.rate),
    nats_subject: textOrNull(draft.natsSubject),
  }
}

/** The definition of a new feed, without members that have their default. */
export function buildDefinition(draft: Draft): object {
  const { history, ...rest } = buildPatch(draft)
  return { name: draft.name.trim(), ...withoutNull(rest), ...(isObject(history) && { history: withoutNull(history) }) }
}

function withoutNull(members: object): object {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== null))
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}

function textOrNull(text: string): string | null {
  return text.trim() === '' ? null : text.trim()
}

/** People write large numbers with separators. */
function numberOrNull(text: string): number | string | null {
  const digits = typedWhole(text)
  return /^\d{1,15}$/.test(digits) ? Number(digits) : textOrNull(text)
}
