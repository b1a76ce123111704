/** Who alerts run for: their owners with the rights that they have now, and no more than the token had that wrote the alert. */
import { randomUUID } from 'node:crypto'
import { type Clock, isRight, PLATFORM_AUDIENCE, type Principal } from 'gatehouse-protocol'
import type { OwnerNow, Owners } from '../alerts/alerts.ts'
import type { Identity } from '../identity/identity.ts'
import { USER_ID_PREFIX } from '../store/accounts/user.ts'
import type { Alert } from '../store/alerts/alert.ts'
import type { Stores } from '../store/stores.ts'

export interface AlertOwnersEnv {
  readonly users: Pick<Identity['users'], 'findById'>
  readonly clients: Pick<Identity['clients'], 'find'>
  readonly consents: Pick<Stores['consents'], 'find'>
  readonly clock: Clock
}

const GONE: OwnerNow = { kind: 'gone' }
/** Clients that a setting switches off and on again. */
const BUILT_IN = /^gatehouse-/

export function alertOwners(env: AlertOwnersEnv): Owners {
  return {
    async find({ owner, rights, id }) {
      const isUser = owner.startsWith(USER_ID_PREFIX)
      const user = isUser ? await env.users.findById(owner) : undefined
      const client = rights.clientId === '' ? undefined : await env.clients.find(rights.clientId)
      if (isUser && user === undefined) return GONE
      if (rights.clientId !== '' && client === undefined)
        return BUILT_IN.test(rights.clientId) ? suspended(`The client ${rights.clientId} is switched off`) : GONE
      if (user?.disabled === true) return suspended('The owner is disabled')
      if (client?.disabled === true) return suspended(`The client ${client.id} is disabled`)
      const consent = rights.consented && client !== undefined ? await env.consents.find(owner, client.id) : undefined
      if (rights.consented && consent === undefined)
        return suspended(`The consent to the client ${client?.id} was withdrawn`)
      const held = rights.scopes ?? [...(user?.rights ?? [])]
      const scopes = held.filter(
        (scope) =>
          (user === undefined || !isRight(scope) || user.rights.has(scope)) &&
          (client === undefined || client.scopes.has(scope)) &&
          (consent === undefined || consent.scopes.includes(scope)),
      )
      if (scopes.length === 0) return suspended('The owner has none of the rights that the alert was written with')
      const roles = user === undefined ? [] : [...user.roles]
      return { kind: 'present', principal: ownerPrincipal({ owner, rights, id }, { scopes, roles, user }, env) }
    },
  }
}

function suspended(reason: string): OwnerNow {
  return { kind: 'suspended', reason }
}

/** Each time another token, so that what a table demands of sign-ins is judged anew. */
function ownerPrincipal(
  { owner, rights, id }: Pick<Alert, 'owner' | 'rights' | 'id'>,
  {
    scopes,
    roles,
    user,
  }: {
    readonly scopes: readonly string[]
    readonly roles: readonly string[]
    readonly user: { readonly username: string } | undefined
  },
  { clock }: AlertOwnersEnv,
): Principal {
  const now = Math.floor(clock() / 1000)
  return {
    subject: owner,
    kind: user === undefined ? 'client' : 'user',
    clientId: rights.clientId,
    scopes: new Set(scopes),
    roles,
    audiences: [PLATFORM_AUDIENCE],
    tokenId: `alert ${id} ${randomUUID()}`,
    sessionId: undefined,
    grantId: undefined,
    username: user?.username,
    displayName: undefined,
    issuedAt: now,
    expiresAt: Number.MAX_SAFE_INTEGER,
    authTime: undefined,
  }
}
