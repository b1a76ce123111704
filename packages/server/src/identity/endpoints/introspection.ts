/** POST /connect/introspect (RFC 7662): the state of a token, for clients that the token concerns, as JSON or as a JWT (RFC 9701). */

import { type Authenticate, type Clock, type Principal, seconds } from 'gatehouse-protocol'
import { JSON_TYPE } from '../../http/context.ts'
import { byQuality } from '../../http/request/accept.ts'
import { FORM } from '../../http/request/body.ts'
import type { Route } from '../../http/route.ts'
import type { RefreshTokens } from '../../store/authorizations/refresh-tokens.ts'
import type { Client } from '../../store/clients/client-metadata.ts'
import type { ApiRegistry } from '../apis/registry.ts'
import { isBuiltInAudience } from '../apis/targets.ts'
import { authenticateClient, type ClientAuthEnv, readForm, required } from '../clients/client-request.ts'
import { refuse } from '../oauth-error.ts'
import type { Issuer } from '../tokens/issuer.ts'

export interface IntrospectionEnv extends ClientAuthEnv {
  readonly issuerName: string
  readonly issuer: Pick<Issuer, 'introspectionResponse'>
  readonly apis: Pick<ApiRegistry, 'known'>
  readonly authenticate: Authenticate
  readonly stores: { readonly refreshTokens: RefreshTokens }
  readonly clock: Clock
}

/** C-87: the reply never gives the reason. */
const INACTIVE = { active: false } as const

export function introspectionRoute(env: IntrospectionEnv): Route {
  /** Descriptions as JSON. A principal stays the same object until something about its token changes. */
  const described = new WeakMap<Principal, string>()
  return {
    method: 'POST',
    path: '/connect/introspect',
    body: FORM,
    async handle(context) {
      const form = readForm(context)
      const client = await authenticateClient(context, form, env)
      // A public client is not authenticated, so anybody could use its id to inspect a token.
      if (client.public) throw refuse('invalid_client', 'Introspection needs a client that is authenticated', BASIC)
      const token = required(form, 'token')
      const principal = await env.authenticate(token)
      context.setHeader('vary', 'Accept')
      if (prefersJwt(context.headers.accept)) {
        const description = await describeToken(token, principal, client, env)
        context.send(JWT_TYPE, await env.issuer.introspectionResponse(client, description))
      } else if (principal !== undefined && concerns(client, principal, env)) context.send(JSON_TYPE, asJson(principal))
      else context.json(await describeToken(token, principal, client, env))
    },
  }

  function asJson(principal: Principal): string {
    let text = described.get(principal)
    if (text === undefined) {
      text = JSON.stringify(describe(principal, env))
      described.set(principal, text)
    }
    return text
  }
}

const JWT_TYPE = 'application/token-introspection+jwt'
const JSON_TYPES: readonly string[] = ['application/json', 'application/*', '*/*']

/** RFC 9701 §4: it is named, and JSON is not preferred to it. */
function prefersJwt(accept: string | undefined): boolean {
  if (accept === undefined || !accept.toLowerCase().includes(JWT_TYPE)) return false
  const accepted = byQuality(accept)
  const jwt = accepted.find(({ value }) => value === JWT_TYPE)?.quality ?? 0
  return jwt > 0 && !accepted.some(({ value, quality }) => JSON_TYPES.includes(value) && quality > jwt)
}

async function describeToken(
  token: string,
  principal: Principal | undefined,
  client: Client,
  env: IntrospectionEnv,
): Promise<object> {
  if (principal === undefined) return describeRefreshToken(token, client, env)
  return concerns(client, principal, env) ? describe(principal, env) : INACTIVE
}

const BASIC = { headers: { 'www-authenticate': 'Basic realm="gatehouse", charset="UTF-8"' } }

/** A client may inspect its own tokens, and those for an audience of its scopes. Those for an API are only for clients of that API, or for the one that it is. */
function concerns(client: Client, { clientId, audiences }: Principal, { apis }: IntrospectionEnv): boolean {
  if (clientId === client.id || (client.api !== undefined && audiences.includes(client.api))) return true
  const known = apis.known()
  const own = audiences.find((audience) => !isBuiltInAudience(audience))
  const inspected = own === undefined ? audiences : [own]
  return known.findAudiences(client.scopes).some((audience) => inspected.includes(audience))
}

function describe(principal: Principal, { issuerName }: IntrospectionEnv) {
  const { audiences } = principal
  return {
    active: true,
    scope: [...principal.scopes].join(' '),
    client_id: principal.clientId,
    username: principal.username,
    token_type: principal.boundKey === undefined ? 'Bearer' : 'DPoP',
    cnf: principal.boundKey === undefined ? undefined : { jkt: principal.boundKey },
    exp: principal.expiresAt,
    iat: Math.floor(principal.issuedAt),
    nbf: Math.floor(principal.issuedAt),
    sub: principal.subject,
    aud: audiences.length === 1 ? audiences[0] : audiences,
    iss: issuerName,
    jti: principal.tokenId,
    // RFC 9470 §6.2.
    acr: principal.acr,
    auth_time: principal.authTime,
    act: principal.actor,
  }
}

/** Refresh tokens are described to their own client only. */
async function describeRefreshToken(token: string, client: Client, { stores, clock, issuerName }: IntrospectionEnv) {
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
