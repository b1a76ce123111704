/** Who calls SCIM: a client with an access token, or with a provisioning token, which is valid nowhere else. */
import type { Authenticate, Principal } from 'gatehouse-protocol'

export const PROVISIONING = 'Identity/Provisioning'

export interface ScimAuthenticationOptions {
  /** Of access tokens. */
  readonly authenticate: Authenticate
  readonly tokens: ProvisioningTokens
  readonly clients: { find(clientId: string): Promise<ScimClient | undefined> }
}

export interface ProvisioningTokens {
  /** Whether the text looks like one. */
  isOne(text: string): boolean
  /** Undefined for one that is unknown or has expired. */
  find(token: string): Promise<ProvisioningToken | undefined>
  /** Notes that the client, and the token if it used one, was seen now. */
  seen(clientId: string, token: ProvisioningToken | undefined): Promise<void>
}

interface ProvisioningToken {
  readonly id: string
  readonly clientId: string
  readonly createdAt: number
  readonly expiresAt: number
  readonly usedAt: number | undefined
}

interface ScimClient {
  readonly id: string
  readonly disabled: boolean
  readonly scopes: ReadonlySet<string>
}

export function scimAuthentication({ authenticate, tokens, clients }: ScimAuthenticationOptions): Authenticate {
  return (token) => (tokens.isOne(token) ? byProvisioningToken(token) : authenticate(token))

  async function byProvisioningToken(token: string): Promise<Principal | undefined> {
    const found = await tokens.find(token)
    const client = found && (await clients.find(found.clientId))
    if (found === undefined || client === undefined) return undefined
    if (client.disabled || !client.scopes.has(PROVISIONING)) return undefined
    await tokens.seen(client.id, found)
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
