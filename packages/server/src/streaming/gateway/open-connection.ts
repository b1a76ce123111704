/** An open connection as operators see it. */
import { activeAuthority } from '../connection/authority.ts'
import type { Peer } from '../connection/peer.ts'

/** User, client and expiry are undefined while the connection has no active authority. */
export interface OpenConnection {
  readonly connectionId: string
  readonly subject: string | undefined
  readonly username: string | undefined
  readonly clientId: string | undefined
  readonly expiresAt: number | undefined
  readonly address: string
  readonly openedAt: number
  readonly protocol: string
  readonly version: string
  readonly subscriptions: number
  readonly queuedBytes: number
}

export function describeConnection({ connection, openedAt, codec, queuedBytes }: Peer, now: number): OpenConnection {
  const { connectionId, address, profile } = connection.caller.identity
  const active = activeAuthority(connection.auth.authority, now)
  return {
    connectionId,
    subject: active?.principal.subject,
    username: active?.principal.username,
    clientId: active?.principal.clientId,
    expiresAt: active?.expiresAt,
    address,
    openedAt,
    protocol: codec.subProtocol,
    version: profile.version,
    subscriptions: connection.subscriptions.size,
    queuedBytes,
  }
}
