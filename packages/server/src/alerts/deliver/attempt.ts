/** One attempt of a delivery: whether it may be made now, and what came of it. */
import type { Principal } from 'gatehouse-protocol'
import type { AlertRows, ListedDelivery } from '../../query/index.ts'
import type { Alert } from '../../store/alerts/alert.ts'
import type { Channel } from '../../store/alerts/channels.ts'
import type { OwnerNow } from '../keep/owners.ts'
import type { Notice } from '../notice.ts'
import { deliverByPush, type PushEnv } from '../push/send.ts'
import { type PostEnv, postWebhook } from '../webhook/post.ts'
import { mayUse } from './built-in.ts'
import { deliverToFeed, type PublishToFeed } from './feed.ts'
import type { AttemptResult } from './lanes.ts'
import { type AlertMailing, deliverByMail } from './mail.ts'
import { isAddress } from './own-webhooks.ts'

export interface AttemptEnv extends PostEnv {
  readonly rows: Pick<AlertRows, 'findDelivery'>
  /** Of the owner of the alert, where it is theirs. */
  readonly channel: (name: string, owner: string) => Channel | undefined
  readonly alert: (id: string) => { readonly alert: Alert; readonly owner: OwnerNow } | undefined
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

/** Mails to a mailbox are queued one at a time. */
const mailboxes = new Map<string, Promise<unknown>>()

export async function attemptDelivery(delivery: ListedDelivery, env: AttemptEnv): Promise<AttemptResult> {
  if (!env.isKeeper()) return { outcome: 'held' }
  const found = env.alert(delivery.alert)
  if (found === undefined) return { outcome: 'dropped', error: 'The alert is gone' }
  const channel = env.channel(delivery.channel, found.alert.owner)
  if (channel === undefined) return { outcome: 'dropped', error: 'The channel is gone' }
  if (channel.disabled) return { outcome: 'held' }
  const { owner } = found
  if (owner.kind !== 'present') return { outcome: 'dropped', error: 'The owner lost rights' }
  if (!mayUse(channel, owner.principal.scopes))
    return { outcome: 'dropped', error: `The owner has no right to use the channel: it needs ${channel.use}` }
  const stored = await env.rows.findDelivery(delivery.id)
  if (stored?.state !== 'waiting') return { outcome: 'dropped', error: 'It was dropped' }
  const notice: Notice = JSON.parse(stored.notice)
  return deliver(channel, { delivery, notice, principal: owner.principal }, env)
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
        const others = env.waitingWith(delivery, owner)
        if (others === undefined) return { outcome: 'done' }
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
