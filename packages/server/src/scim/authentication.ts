/** Who calls SCIM: a client with an access token, or with a provisioning token, which is valid nowhere else. */
import type { Authenticate, Clock, Principal } from 'gatehouse-protocol'
import type { Client } from '../store/clients/client-metadata.ts'
import { isNoted, TOKEN_PREFIX } from '../store/scim/provisioning-tokens.ts'
import type { Scim } from '../store/scim/scim.ts'
import { PROVISIONING } from './environment.ts'

export interface ScimAuthenticationOptions {
  /** Of access tokens. */
  readonly authenticate: Authenticate
  readonly tokens: Scim['tokens']
  readonly clients: { find(clientId: string): Promise<Client | undefined> }
  readonly clock: Clock
}

export function scimAuthentication({ authenticate, tokens, clients, clock }: ScimAuthenticationOptions): Authenticate {
  return (token) => (token.startsWith(TOKEN_PREFIX) ? byProvisioningToken(token) : authenticate(token))

  async function byProvisioningToken(token: string): Promise<Principal | undefined> {
    const found = await tokens.find(token)
    const client = found && (await clients.find(found.clientId))
    if (found === undefined || client === undefined) return undefined
    if (client.disabled || !client.scopes.has(PROVISIONING)) return undefined
    if (!isNoted(found.usedAt, clock())) await tokens.seen(client.id, found.id)
    return {
      subject: client.id,
      kind: 'client',
      clientId: client.id,
      scopes: new Set([PROVISIONING]),
      roles: [],
      audiences: [],
      tokenId: found.id,
      sessionId: undefined,
      grantId: undefined,
      username: undefined,
      displayName: undefined,
      issuedAt: found.createdAt / 1000,
      expiresAt: found.expiresAt / 1000,
      authTime: undefined,
    }
  }
}
