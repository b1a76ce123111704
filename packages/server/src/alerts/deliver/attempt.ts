/** One attempt of a delivery: whether it may be made now, and what came of it. */
import type { AlertRows, ListedDelivery } from '../../query/index.ts'
import type { Alert } from '../../store/alerts/alert.ts'
import type { Channel } from '../../store/alerts/channels.ts'
import type { OwnerNow } from '../keep/owners.ts'
import type { Notice } from '../notice.ts'
import { type PostEnv, postWebhook } from '../webhook/post.ts'
import type { AttemptResult } from './lanes.ts'

export interface AttemptEnv extends PostEnv {
  readonly rows: Pick<AlertRows, 'findDelivery'>
  readonly channel: (name: string) => Channel | undefined
  readonly alert: (id: string) => { readonly alert: Alert; readonly owner: OwnerNow } | undefined
  /** Whether this node is the keeper beyond doubt: one that slept sends nothing. */
  readonly isKeeper: () => boolean
  /** The receiver says that nothing is to be sent there any more. */
  readonly disable: (channel: Channel) => Promise<void>
}

export async function attemptDelivery(delivery: ListedDelivery, env: AttemptEnv): Promise<AttemptResult> {
  if (!env.isKeeper()) return { outcome: 'held' }
  const found = env.alert(delivery.alert)
  const channel = env.channel(delivery.channel)
  if (found === undefined) return { outcome: 'dropped', error: 'The alert is gone' }
  if (channel === undefined) return { outcome: 'dropped', error: 'The channel is gone' }
  if (channel.disabled) return { outcome: 'held' }
  const { owner } = found
  if (owner.kind !== 'present') return { outcome: 'dropped', error: 'The owner lost rights' }
  if (!owner.principal.scopes.has(channel.use))
    return { outcome: 'dropped', error: `The owner has no right to use the channel: it needs ${channel.use}` }
  const stored = await env.rows.findDelivery(delivery.id)
  if (stored?.state !== 'waiting') return { outcome: 'dropped', error: 'It was dropped' }
  const notice: Notice = JSON.parse(stored.notice)
  const attempt = await postWebhook(channel, delivery.id, notice, env)
  if (attempt.outcome === 'failed' && attempt.isGone === true) await env.disable(channel)
  return attempt
}

/** What bounds how many are under way. The address of a channel that has it as its secret is its own host. */
export function deliveryHost(channel: Channel | undefined): string {
  if (channel?.url === undefined) return `channel ${channel?.name ?? ''}`
  return URL.parse(channel.url)?.host ?? ''
}
