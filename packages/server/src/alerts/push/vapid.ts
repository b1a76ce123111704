/** Voluntary application server identification (RFC 8292): a token that says which installation sends. */
import { createPublicKey, type KeyObject, sign } from 'node:crypto'

/** At most 24 hours (RFC 8292 §2). */
const LIFETIME_SECONDS = 12 * 3600

/** The value of Authorization. */
export function vapidHeader(
  endpoint: string,
  privateKey: KeyObject,
  { subject, now }: { readonly subject: string; readonly now: number },
): string {
  const claims = { aud: new URL(endpoint).origin, exp: Math.floor(now / 1000) + LIFETIME_SECONDS, sub: subject }
  const input = `${encode({ typ: 'JWT', alg: 'ES256' })}.${encode(claims)}`
  const signature = sign('sha256', Buffer.from(input), { key: privateKey, dsaEncoding: 'ieee-p1363' })
  return `vapid t=${input}.${signature.toString('base64url')}, k=${publicKeyText(privateKey)}`
}

/** As browsers take it: an uncompressed point in base64url. */
export function publicKeyText(privateKey: KeyObject): string {
  const { x = '', y = '' } = createPublicKey(privateKey).export({ format: 'jwk' })
  return Buffer.concat([Buffer.from([4]), Buffer.from(x, 'base64url'), Buffer.from(y, 'base64url')]).toString(
    'base64url',
  )
}

function encode(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url')
}
