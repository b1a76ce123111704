/** Messages as JetStream delivers them, and as messages of a feed. */
import type { StoredMsg } from '@nats-io/jetstream'
import type { Msg, MsgHdrs } from '@nats-io/transport-node'
import type { StoredMessage } from '../engine.ts'
import { COPIES_ROOT, type Subjects } from './subjects.ts'

/** When a message was published, in milliseconds: the same for all messages of a request. */
export const TIME_HEADER = 'Gatehouse-Time'
/** The topic is removed: nothing before this message counts. */
export const REMOVED_HEADER = 'Gatehouse-Removed'
/** All messages before this one are forgotten; the value is the new epoch. */
export const PURGED_HEADER = 'Gatehouse-Purged'
/** Of a message in a copy: its number in the feed, and when JetStream stored it there first. */
export const NUMBER_HEADER = 'Gatehouse-Number'
export const STORED_HEADER = 'Gatehouse-Stored'
const SIZE_HEADER = 'Nats-Msg-Size'

export interface Delivered {
  readonly subject: string
  /** Its number in the feed. */
  readonly seq: number
  /** Its sequence number in the stream that has it: another one in a copy. */
  readonly place: number
  /** How many messages the consumer has delivered, with this one. */
  readonly count: number
  /** How many it has not delivered yet. */
  readonly pending: number
  readonly time: number
  /** When JetStream stored it, of a message in a copy when it did so first; in milliseconds. */
  readonly stored: number
  /** Of the payload, also where only headers are delivered. */
  readonly bytes: number
  readonly isRemoval: boolean
  readonly purged: string | undefined
  readonly payload: Uint8Array
}

/** Undefined for a message without the metadata of JetStream, such as a heartbeat. */
export function delivered({ subject, reply, headers, data }: Msg): Delivered | undefined {
  // $JS.ACK.<stream>.<consumer>.<deliveries>.<stream seq>.<consumer seq>.<ns>.<pending>, or with the domain and account before these.
  const tokens = reply?.split('.') ?? []
  const at = tokens.length === 9 ? 4 : tokens.length >= 11 ? 6 : -1
  if (at < 0 || tokens[0] !== '$JS' || tokens[1] !== 'ACK') return undefined
  const size = headers?.get(SIZE_HEADER)
  const nanoseconds = Number(tokens[at + 3])
  return {
    subject,
    ...readPlace(subject, Number(tokens[at + 1]), Math.ceil(nanoseconds / 1e6), headers),
    count: Number(tokens[at + 2]),
    pending: Number(tokens[at + 4]),
    time: readTime(headers?.get(TIME_HEADER), Math.floor(nanoseconds / 1e6)),
    bytes: size ? Number(size) : data.length,
    isRemoval: headers?.has(REMOVED_HEADER) ?? false,
    purged: headers?.get(PURGED_HEADER) || undefined,
    payload: data,
  }
}

/** A message that was asked for by its number or subject. */
export function storedAs({ subject, seq, header, data, timestamp }: StoredMsg): Delivered {
  const stored = Date.parse(timestamp)
  return {
    ...{ subject, count: 0, pending: 0, bytes: data.length, payload: data },
    ...readPlace(subject, seq, stored, header),
    time: readTime(header?.get(TIME_HEADER) || undefined, stored),
    isRemoval: header?.has(REMOVED_HEADER) ?? false,
    purged: header?.get(PURGED_HEADER) || undefined,
  }
}

/** Only copies have numbers that are not those of their stream: what a program publishes elsewhere has none. */
function readPlace(subject: string, place: number, stored: number, headers: Pick<MsgHdrs, 'get'> | undefined) {
  if (headers === undefined || !subject.startsWith(`${COPIES_ROOT}.`)) return { place, seq: place, stored }
  return { place, seq: Number(headers.get(NUMBER_HEADER)), stored: Number(headers.get(STORED_HEADER)) }
}

/** Programs that publish to NATS themselves do not say when. */
export function readTime(header: string | undefined, received: number): number {
  return header !== undefined && /^\d{1,15}$/.test(header) ? Number(header) : received
}

/** Counts messages that are none of the feed, because other programs may publish anything. */
export type Skipped = (reason: 'subject' | 'not_json' | 'too_large') => void

/** Undefined if it is not a message of the feed. */
export function readMessage(
  { subject, seq, time, isRemoval, payload }: Pick<Delivered, 'subject' | 'seq' | 'time' | 'isRemoval' | 'payload'>,
  subjects: Subjects,
  messageBytes: number,
  skipped: Skipped,
): StoredMessage | undefined {
  const topic = subjects.readTopic(subject)
  if (topic === undefined) {
    if (subject !== subjects.prefix) skipped('subject')
    return undefined
  }
  if (isRemoval) return { topic, data: undefined, seq, time }
  if (payload.length > messageBytes) {
    skipped('too_large')
    return undefined
  }
  const data = jsonText(payload)
  if (data === undefined) {
    skipped('not_json')
    return undefined
  }
  return { topic, data, seq, time }
}

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

function jsonText(payload: Uint8Array): string | undefined {
  try {
    const text = decoder.decode(payload)
    JSON.parse(text)
    return text
  } catch {
    return undefined
  }
}
