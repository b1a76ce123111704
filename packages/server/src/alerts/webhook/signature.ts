/** Signatures of Standard Webhooks 1.0. */
import { createHmac } from 'node:crypto'
import { readSigningSecret } from '../../store/alerts/channel-secrets.ts'

export interface SignedRequest {
  /** The same in every attempt. It has no dot. */
  readonly id: string
  /** Of the attempt, in seconds. */
  readonly timestamp: number
  readonly body: string
}

/** One signature for each key, so that a receiver may know either while they are rotated. */
export function signatureHeaders(
  { id, timestamp, body }: SignedRequest,
  secrets: readonly string[],
): Readonly<Record<string, string>> {
  const signatures = secrets.map((secret) => {
    const key = readSigningSecret(secret)
    if (key === undefined) throw new Error('The secret of a channel is no key')
    return `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')}`
  })
  return {
    'webhook-id': id,
    'webhook-timestamp': String(timestamp),
    'webhook-signature': signatures.join(' '),
  }
}
