/** One attempt to deliver by webhook. */
import type { Clock } from 'gatehouse-protocol'
import { guardedRequest, type Resolve } from '../../http/outgoing/guarded-request.ts'
import { openSecrets } from '../../store/alerts/channel-secrets.ts'
import type { Channel } from '../../store/alerts/channels.ts'
import type { Notice } from '../notice.ts'
import { webhookBody } from './formats.ts'
import { signatureHeaders } from './signature.ts'

export interface PostEnv {
  readonly clock: Clock
  /** Opens the secrets of channels. */
  readonly sealingKey: Buffer
  /** Resolves host names; the system's resolver where absent. */
  readonly resolve?: Resolve | undefined
}

export type Attempt =
  | { readonly outcome: 'sent'; readonly status?: number }
  | {
      readonly outcome: 'failed'
      readonly error: string
      readonly status?: number
      /** How long the receiver asks to wait. */
      readonly retryAfterMs?: number | undefined
      /** Nothing is to be sent there any more. */
      readonly isGone?: true
    }

const TIMEOUT_MS = 15_000
const MOST_REPLY_BYTES = 16 * 1024
const LONGEST_WAIT_MS = 3_600_000
const USER_AGENT = 'Gatehouse-Alerts/1'

/** Never rejects. */
export async function postWebhook(channel: Channel, id: string, notice: Notice, env: PostEnv): Promise<Attempt> {
  try {
    const secrets = openSecrets(channel, env.sealingKey, env.clock())
    const isStandard = channel.format === 'standard'
    const [address = channel.url] = isStandard ? [] : secrets
    if (address === undefined) return { outcome: 'failed', error: 'The channel has no address' }
    const body = webhookBody(notice, channel.format)
    const timestamp = Math.floor(env.clock() / 1000)
    const { status, headers } = await guardedRequest(address, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'user-agent': USER_AGENT,
        ...(isStandard ? signatureHeaders({ id, timestamp, body }, secrets) : {}),
      },
      body,
      allowPrivate: channel.private,
      mostBytes: MOST_REPLY_BYTES,
      timeoutMs: TIMEOUT_MS,
      resolve: env.resolve,
    })
    if (status >= 200 && status < 300) return { outcome: 'sent', status }
    return {
      outcome: 'failed',
      error: describeStatus(status),
      status,
      retryAfterMs: readRetryAfter(headers['retry-after'], env.clock()),
      ...(status === 410 && { isGone: true }),
    }
  } catch (error) {
    return { outcome: 'failed', error: error instanceof Error ? error.message : String(error) }
  }
}

function describeStatus(status: number): string {
  if (status >= 300 && status < 400) return `The receiver answered ${status}: redirects are not followed`
  return `The receiver answered ${status}`
}

/** RFC 9110 §10.2.3: seconds or a date; an hour at most. */
function readRetryAfter(text: string | undefined, now: number): number | undefined {
  if (text === undefined) return undefined
  const wait = /^\d{1,9}$/.test(text) ? Number(text) * 1000 : Date.parse(text) - now
  return Number.isFinite(wait) && wait > 0 ? Math.min(wait, LONGEST_WAIT_MS) : undefined
}
