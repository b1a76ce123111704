/** OpenID Connect Session Management §3.2: what a client compares to notice that the session has changed. */
import { hash, randomBytes } from 'node:crypto'

export function sessionState(clientId: string, redirectUri: string, browserState: string): string {
  const salt = randomBytes(12).toString('base64url')
  const text = `${clientId} ${originOf(redirectUri)} ${browserState} ${salt}`
  return `${hash('sha256', text, 'base64url')}.${salt}`
}

/** A private-use scheme has no origin that a frame could have. */
function originOf(uri: string): string {
  return URL.parse(uri)?.origin ?? 'null'
}
