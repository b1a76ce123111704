/** Sends a notice to the browsers of a user (RFC 8030). */
import type { KeyObject } from 'node:crypto'
import type { Clock } from 'gatehouse-protocol'
import { guardedRequest, type Resolve } from '../../http/outgoing/guarded-request.ts'
import type { PushSubscription } from '../../store/alerts/push-subscriptions.ts'
import type { AttemptResult } from '../deliver/lanes.ts'
import type { Notice } from '../notice.ts'
import { encryptPush, MOST_PLAIN_BYTES, readPushKeys } from './encrypt.ts'
import { vapidHeader } from './vapid.ts'

export interface PushEnv {
  readonly subscriptions: {
    listOf(userId: string): Promise<readonly PushSubscription[]>
    remove(id: string): Promise<unknown>
  }
  readonly vapidKey: () => Promise<KeyObject>
  /** Whom push services may write to: an address of this server. */
  readonly subject: string
  /** Allows private and loopback addresses, and http. */
  readonly allowPrivate: boolean
  readonly clock: Clock
  readonly resolve?: Resolve | undefined
}

const DAY_SECONDS = 86_400
const TIMEOUT_MS = 15_000
const MOST_REPLY_BYTES = 16 * 1024
const LONGEST_TEXT = 1_500
/** RFC 8030 §5.4: of the URL and filename safe base64 alphabet, at most 32 characters. */
const TOPIC_LENGTH = 32

/** It has arrived when one browser has it; one that is gone is forgotten. */
export async function deliverByPush(owner: string, notice: Notice, env: PushEnv): Promise<AttemptResult> {
  const subscriptions = await env.subscriptions.listOf(owner)
  if (subscriptions.length === 0) return { outcome: 'dropped', error: 'No browser of the owner gets notices' }
  const body = pushBody(notice)
  const results = await Promise.all(subscriptions.map((subscription) => send(subscription, body, notice, env)))
  const accepted = results.find(({ outcome }) => outcome === 'sent')
  const failed = results.find(({ outcome }) => outcome === 'failed')
  return accepted ?? failed ?? { outcome: 'dropped', error: 'The browsers of the owner are gone' }
}

/** What the service worker shows. */
export function pushBody({ data, type }: Notice): Buffer {
  const { title, text, url, alert } = data
  const write = (shown: string) =>
    Buffer.from(
      JSON.stringify({
        title,
        text: shown,
        url,
        tag: `${alert ?? 'test'} ${type === 'alert.event' ? data.sequence : ''}`.trim(),
      }),
    )
  let shown = text.slice(0, LONGEST_TEXT).toWellFormed()
  let body = write(shown)
  while (body.length > MOST_PLAIN_BYTES && shown !== '') {
    shown = shown.slice(0, Math.floor(shown.length / 2)).toWellFormed()
    body = write(shown)
  }
  return body
}

async function send(
  { id, endpoint, p256dh, auth }: PushSubscription,
  body: Buffer,
  { type, data }: Notice,
  env: PushEnv,
): Promise<AttemptResult> {
  const keys = readPushKeys(p256dh, auth)
  if (keys === undefined) return { outcome: 'dropped', error: 'The key of the browser is none' }
  try {
    const now = env.clock()
    const { status, headers } = await guardedRequest(endpoint, {
      method: 'POST',
      headers: {
        authorization: vapidHeader(endpoint, await env.vapidKey(), { subject: env.subject, now }),
        'content-encoding': 'aes128gcm',
        'content-type': 'application/octet-stream',
        ttl: String(DAY_SECONDS),
        urgency: type === 'alert.resolved' ? 'normal' : 'high',
        // A newer one replaces it, while the browser is away; events are each one of its own.
        ...(type !== 'alert.event' && data.alert !== null && { topic: data.alert.slice(0, TOPIC_LENGTH) }),
      },
      body: encryptPush(body, keys),
      allowPrivate: env.allowPrivate,
      mostBytes: MOST_REPLY_BYTES,
      timeoutMs: TIMEOUT_MS,
      resolve: env.resolve,
    })
    if (status >= 200 && status < 300) return { outcome: 'sent', status }
    if (status === 404 || status === 410) {
      await env.subscriptions.remove(id)
      return { outcome: 'dropped', error: 'The browser is gone' }
    }
    const wait = Number(headers['retry-after'])
    const retryAfterMs = Number.isFinite(wait) && wait > 0 ? Math.min(wait, 3600) * 1000 : undefined
    return { outcome: 'failed', error: `The push service answered ${status}`, status, retryAfterMs }
  } catch (error) {
    return { outcome: 'failed', error: error instanceof Error ? error.message : String(error) }
  }
}
