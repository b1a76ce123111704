/** One attempt of a delivery: whether it may be made now, and what came of it. */
import type { Principal } from 'gatehouse-protocol'
import { type AlertRows, type ListedDelivery, LOST_RIGHTS } from '../../query/index.ts'
import { isAddress } from '../../resources/alert-shape.ts'
import type { Alert } from '../../store/alerts/alert.ts'
import type { Channel } from '../../store/alerts/channels.ts'
import type { OwnerNow } from '../keep/owners.ts'
import { type Notice, readNotice } from '../notice.ts'
import { deliverByPush, type PushEnv } from '../push/send.ts'
import { type PostEnv, postWebhook } from '../webhook/post.ts'
import { mayUse } from './built-in.ts'
import { deliverToFeed, type PublishToFeed } from './feed.ts'
import type { AttemptResult } from './lanes.ts'
import { type AlertMailing, deliverByMail } from './mail.ts'

export interface AttemptEnv extends PostEnv {
  readonly rows: Pick<AlertRows, 'findDelivery'>
  /** Of the owner of the alert, where it is theirs. */
  readonly channel: (name: string, owner: string) => Channel | undefined
  readonly alert: (id: string) => ReadyAlert | undefined
  /** Whether this node is the keeper beyond doubt: one that slept sends nothing. */
  readonly isKeeper: () => boolean
  /** The receiver says that nothing is to be sent there any more. */
  readonly disable: (channel: Channel) => Promise<void>
  readonly mail: AlertMailing | undefined
  readonly publish: PublishToFeed | undefined
  readonly push: PushEnv
  /** What waits for the same mailbox besides; undefined if the delivery itself waits no more. */
  readonly waitingWith: (delivery: ListedDelivery, owner: string) => readonly ListedDelivery[] | undefined
}

interface ReadyAlert {
  readonly alert: Alert
  readonly owner: OwnerNow
  /** Whether the owner may see the rows of notices; undefined: it cannot be known now. */
  readonly hasRights: () => Promise<boolean | undefined>
}

/** When it is asked again whether this node is the keeper, and what the owner may see. */
const ASK_AGAIN_MS = 1_000

/** Mails to a mailbox are queued one at a time. */
const mailboxes = new Map<string, Promise<unknown>>()

export async function attemptDelivery(delivery: ListedDelivery, env: AttemptEnv): Promise<AttemptResult> {
  if (!env.isKeeper()) return { outcome: 'postponed', waitMs: ASK_AGAIN_MS }
  const sender = findSender(delivery, env)
  if ('outcome' in sender) return sender
  const stored = await env.rows.findDelivery(delivery.id)
  if (stored?.state !== 'waiting') return { outcome: 'dropped', error: 'It was dropped' }
  const notice = readNotice(stored.notice)
  const hasRights = notice.data.instances.length === 0 || (await sender.hasRights())
  if (hasRights === undefined) return { outcome: 'postponed', waitMs: ASK_AGAIN_MS }
  if (!hasRights) return WITHOUT_RIGHTS
  return deliver(sender.channel, { delivery, notice, principal: sender.principal }, env)
}

interface Sender extends Pick<ReadyAlert, 'hasRights'> {
  readonly channel: Channel
  readonly principal: Principal
}

const WITHOUT_RIGHTS = { outcome: 'dropped', error: LOST_RIGHTS } as const

/** The channel and the owner; or why there is none. */
function findSender({ alert, channel: name }: ListedDelivery, env: AttemptEnv): Sender | AttemptResult {
  const found = env.alert(alert)
  if (found === undefined) return { outcome: 'dropped', error: 'The alert is gone' }
  const channel = env.channel(name, found.alert.owner)
  if (channel === undefined) return { outcome: 'dropped', error: 'The channel is gone' }
  if (channel.disabled) return { outcome: 'held' }
  const { owner, hasRights } = found
  if (owner.kind !== 'present') return WITHOUT_RIGHTS
  if (!mayUse(channel, owner.principal.scopes))
    return { outcome: 'dropped', error: `The owner has no right to use the channel: it needs ${channel.use}` }
  return { channel, principal: owner.principal, hasRights }
}

/** Those of other alerts that may leave now too. */
async function selectSendable(deliveries: readonly ListedDelivery[], env: AttemptEnv): Promise<ListedDelivery[]> {
  const senders = deliveries.map((each) => findSender(each, env))
  const rights = await Promise.all(senders.map((sender) => 'hasRights' in sender && sender.hasRights()))
  return deliveries.filter((_each, index) => rights[index] === true)
}

interface Ready {
  readonly delivery: ListedDelivery
  readonly notice: Notice
  readonly principal: Principal
}

async function deliver(
  channel: Channel,
  { delivery, notice, principal }: Ready,
  env: AttemptEnv,
): Promise<AttemptResult> {
  switch (channel.kind) {
    case 'webhook': {
      const attempt = await postWebhook(channel, delivery.id, notice, env)
      if (attempt.outcome !== 'failed' || attempt.isGone !== true) return attempt
      if (isAddress(channel.name)) return { outcome: 'dropped', error: 'The receiver answered 410: it is gone' }
      await env.disable(channel)
      return attempt
    }
    case 'push':
      return deliverByPush(principal.subject, notice, env.push)
    case 'feed':
      return deliverToFeed(channel, { id: delivery.id, notice, principal }, env.publish)
    case 'mail': {
      const owner = principal.subject
      return inTurn(channel.to ?? owner, async () => {
        const waiting = env.waitingWith(delivery, owner)
        if (waiting === undefined) return { outcome: 'done' }
        const others = await selectSendable(waiting, env)
        return deliverByMail({ channel, delivery, notice, owner, others }, env)
      })
    }
  }
}

async function inTurn<Result>(mailbox: string, act: () => Promise<Result>): Promise<Result> {
  const before = mailboxes.get(mailbox) ?? Promise.resolve()
  const turn = before.catch(() => {}).then(act)
  mailboxes.set(mailbox, turn)
  try {
    return await turn
  } finally {
    if (mailboxes.get(mailbox) === turn) mailboxes.delete(mailbox)
  }
}

/** What bounds how many are under way. The address of a channel that has it as its secret is its own host. */
export function deliveryHost(channel: Channel | undefined): string {
  if (channel === undefined || channel.kind !== 'webhook') return channel?.kind ?? ''
  return channel.url === undefined ? `channel ${channel.name}` : (URL.parse(channel.url)?.host ?? '')
}
