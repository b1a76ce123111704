/** POST /connect/introspect (RFC 7662): what a token is worth now, told to clients that the token concerns. */
import type { FastifyInstance } from 'fastify'
import type { Clock } from '../protocol/clock.ts'
import { seconds } from '../protocol/clock.ts'
import type { Authenticate, Principal } from '../protocol/principal.ts'
import { audiencesOf } from '../protocol/scopes.ts'
import type { Client } from '../store/client-metadata.ts'
import type { RefreshTokens } from '../store/refresh-tokens.ts'
import { authenticateClient, type ClientAuthEnv } from './client-auth.ts'
import { formOf, JSON_TYPE, required } from './oauth-door.ts'
import { refuse } from './oauth-error.ts'
import { callerOf } from './token.ts'

export interface IntrospectEnv extends ClientAuthEnv {
  readonly issuerName: string
  readonly authenticate: Authenticate
  readonly stores: { readonly refreshTokens: RefreshTokens }
  readonly clock: Clock
}

/** C-87: nothing else, whatever the reason. */
const INACTIVE = { active: false } as const

export function registerIntrospect(app: FastifyInstance, env: IntrospectEnv): void {
  /** A principal is the same object as long as nothing about its token changes. */
  const described = new WeakMap<Principal, string>()

  app.post('/connect/introspect', async (request, reply) => {
    const form = formOf(request)
    const client = await authenticateClient(callerOf(request), form, env)
    // A name alone proves nothing: anybody could ask what somebody's token is good for.
    if (client.public) throw refuse('invalid_client', 'Introspection needs a client with a secret', BASIC)
    const token = required(form, 'token')
    const principal = await env.authenticate(token)
    if (principal === undefined) return describeRefreshToken(token, client, env)
    if (!concerns(client, principal)) return INACTIVE
    reply.header('content-type', JSON_TYPE)
    return textOf(principal)
  })

  function textOf(principal: Principal): string {
    let text = described.get(principal)
    if (text === undefined) {
      text = JSON.stringify(describe(principal, env))
      described.set(principal, text)
    }
    return text
  }
}

const BASIC = { headers: { 'www-authenticate': 'Basic realm="gatehouse", charset="UTF-8"' } }

/** Its own tokens, and those for a resource that it takes part in. */
function concerns(client: Client, principal: Principal): boolean {
  if (principal.clientId === client.id) return true
  return audiencesOf(client.scopes).some((audience) => principal.audiences.includes(audience))
}

function describe(principal: Principal, { issuerName }: IntrospectEnv) {
  const { audiences } = principal
  return {
    active: true,
    scope: [...principal.scopes].join(' '),
    client_id: principal.clientId,
    username: principal.username,
    token_type: 'Bearer',
    exp: principal.expiresAt,
    iat: Math.floor(principal.issuedAt),
    nbf: Math.floor(principal.issuedAt),
    sub: principal.subject,
    aud: audiences.length === 1 ? audiences[0] : audiences,
    iss: issuerName,
    jti: principal.tokenId,
  }
}

/** Refresh tokens are nobody's business but their owner's. */
async function describeRefreshToken(token: string, client: Client, { stores, clock, issuerName }: IntrospectEnv) {
  const found = await stores.refreshTokens.find(token)
  if (found === undefined || found.grant.clientId !== client.id || found.grant.revokedAt !== undefined) return INACTIVE
  if (found.expiresAt <= clock() || (await stores.refreshTokens.isSpent(found))) return INACTIVE
  return {
    active: true,
    scope: found.grant.scopes.filter((scope) => client.scopes.has(scope)).join(' '),
    client_id: client.id,
    exp: seconds(found.expiresAt),
    iat: seconds(found.issuedAt),
    sub: found.grant.userId,
    iss: issuerName,
  }
}
