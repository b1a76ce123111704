/** Creates valid and invalid request objects. */
import { createHmac, type KeyObject, sign } from 'node:crypto'
import { requestKey } from '../support/providers/provider.ts'
import type { Trial } from './trial.ts'

export interface ObjectOptions {
  readonly header?: Readonly<Record<string, unknown>>
  readonly key?: KeyObject
  /** Signs with HMAC instead of RSA. */
  readonly secret?: string | Buffer
  readonly unsigned?: true
}

export function requestObject(
  claims: Readonly<Record<string, unknown>>,
  { header = {}, key = requestKey.privateKey, secret, unsigned }: ObjectOptions = {},
): string {
  const alg = unsigned === true ? 'none' : secret === undefined ? 'RS256' : 'HS256'
  const content = `${encode({ alg, kid: 'rp', ...header })}.${encode(claims)}`
  if (unsigned === true) return `${content}.`
  const signature =
    secret === undefined
      ? sign('sha256', Buffer.from(content), key)
      : createHmac('sha256', secret).update(content).digest()
  return `${content}.${signature.toString('base64url')}`
}

/** The claims of a valid request object of the client. */
export function usualClaims({ provider, client }: Trial): Record<string, unknown> {
  const now = Math.floor(provider.now() / 1000)
  return {
    iss: client.client_id,
    aud: provider.issuer,
    iat: now,
    nbf: now - 5,
    exp: now + 60,
    jti: String(Math.random()),
  }
}

function encode(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url')
}
