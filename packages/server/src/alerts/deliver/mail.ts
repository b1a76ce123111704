/** Delivers by mail: a mailbox gets one a minute and 30 an hour, and what waits meanwhile is joined to the next. */
import type { Clock } from 'gatehouse-protocol'
import type { AlertRows, ListedDelivery } from '../../query/index.ts'
import type { Channel } from '../../store/alerts/channels.ts'
import { type Notice, readNotice } from '../notice.ts'
import type { AttemptResult } from './lanes.ts'

/** E-mail, as far as alerts have to do with it. */
export interface AlertMailing {
  /** The verified address of a user. */
  findAddress(userId: string): Promise<string | undefined>
  /** When mails of alerts were queued for an address since a time, the newest first. */
  queuedSince(to: string, since: number): Promise<readonly number[]>
  /** Once for each id. */
  queue(mail: {
    readonly id: string
    readonly userId: string
    readonly to: string
    readonly title: string
    readonly text: string
    readonly url: string
  }): Promise<void>
}

export interface MailEnv {
  readonly mail: AlertMailing | undefined
  readonly clock: Clock
  readonly rows: Pick<AlertRows, 'findDelivery'>
}

export interface MailRequest {
  readonly channel: Pick<Channel, 'to'>
  readonly delivery: ListedDelivery
  readonly notice: Notice
  /** The user who owns the alert. */
  readonly owner: string
  /** What waits for the same mailbox besides. */
  readonly others: readonly ListedDelivery[]
}

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const PER_HOUR = 30
const MOST_JOINED = 50
const LONGEST_TEXT = 30_000

export async function deliverByMail(request: MailRequest, env: MailEnv): Promise<AttemptResult> {
  const { channel, delivery, notice, owner, others } = request
  const { mail, clock } = env
  if (mail === undefined) return { outcome: 'failed', error: 'No mail is set up' }
  const to = channel.to ?? (await mail.findAddress(owner))
  if (to === undefined) return { outcome: 'dropped', error: 'The owner has no verified address' }
  const waitMs = waitForMailbox(await mail.queuedSince(to, clock() - HOUR), clock())
  if (waitMs > 0) return { outcome: 'postponed', waitMs }
  const read = await Promise.all(others.slice(0, MOST_JOINED).map(({ id }) => env.rows.findDelivery(id)))
  const further = read.flatMap((each) => (each === undefined ? [] : [readNotice(each.notice)]))
  await mail.queue({ id: delivery.id, userId: owner, to, ...joinTexts([notice, ...further], others.length + 1) })
  return { outcome: 'sent', together: others }
}

/** `queued` are the times of those in the last hour, the newest first. */
export function waitForMailbox(queued: readonly number[], now: number): number {
  const [newest] = queued
  const oldestThatCounts = queued[PER_HOUR - 1]
  const afterMinute = newest === undefined ? 0 : newest + MINUTE - now
  const afterHour = oldestThatCounts === undefined ? 0 : oldestThatCounts + HOUR - now
  // A clock that was set back makes nobody wait for longer.
  return Math.max(0, Math.min(afterMinute, MINUTE), Math.min(afterHour, HOUR))
}

function joinTexts(
  notices: readonly Notice[],
  count: number,
): { readonly title: string; readonly text: string; readonly url: string } {
  const [first] = notices
  if (first === undefined) throw new Error('A mail of no notice')
  const { title, text, url } = first.data
  if (count === 1) return { title, text, url }
  const parts = notices.map(({ data }) => [data.title, ...data.text.split('\n').map((line) => `  ${line}`)].join('\n'))
  const left = count - notices.length
  const all = [...parts, ...(left > 0 ? [`and ${left} more`] : [])].join('\n\n')
  return { title: `${title} (+${count - 1})`, text: all.slice(0, LONGEST_TEXT).toWellFormed(), url }
}
