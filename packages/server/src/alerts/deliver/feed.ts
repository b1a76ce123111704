/** Delivers to a feed: the body as `Data`, published as the owner, once for each delivery. */
import { createHash } from 'node:crypto'
import { type Principal, Refusal } from 'gatehouse-protocol'
import type { Channel } from '../../store/alerts/channels.ts'
import type { Notice } from '../notice.ts'
import { fillTemplate } from '../template.ts'
import type { AttemptResult } from './lanes.ts'

/** Feeds, as far as alerts have to do with them. Throws a Refusal. */
export type PublishToFeed = (
  feed: string,
  message: { readonly topic: string; readonly data: string },
  principal: Principal,
  once: { readonly key: string; readonly fingerprint: string },
) => Promise<void>

export async function deliverToFeed(
  { feed = '', topic }: Channel,
  { id, notice, principal }: { readonly id: string; readonly notice: Notice; readonly principal: Principal },
  publish: PublishToFeed | undefined,
): Promise<AttemptResult> {
  if (publish === undefined) return { outcome: 'failed', error: 'The node that delivers has no feeds' }
  const { alert, name, instances } = notice.data
  const state = notice.type.slice('alert.'.length)
  const values = { alert: alert ?? '', name, state, count: instances.length, first: undefined }
  const data = JSON.stringify({ type: notice.type, timestamp: notice.timestamp, data: notice.data })
  const fingerprint = createHash('sha256').update(data).digest('base64url')
  try {
    await publish(feed, { topic: fillTemplate(topic, values), data }, principal, { key: id, fingerprint })
    return { outcome: 'sent' }
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    if (error.status === 403) return { outcome: 'dropped', error: error.message }
    return { outcome: 'failed', error: error.message, status: error.status }
  }
}
