/** POST /connect/revocation (RFC 7009): a client revokes its own tokens; the reply never reveals whether a token existed. */

import type { Authenticate } from 'gatehouse-protocol'
import type { Context } from '../../http/context.ts'
import { FORM } from '../../http/request/body.ts'
import type { Route } from '../../http/route.ts'
import type { RefreshTokens } from '../../store/authorizations/refresh-tokens.ts'
import type { Revocations } from '../../store/authorizations/revocations.ts'
import { authenticateClient, type ClientAuthEnv, readForm, required } from '../clients/client-request.ts'

export interface RevocationEnv extends ClientAuthEnv {
  readonly authenticate: Authenticate
  readonly stores: { readonly refreshTokens: Pick<RefreshTokens, 'find'> }
  readonly revocations: Revocations
}

export function revocationRoute(env: RevocationEnv): Route {
  return { method: 'POST', path: '/connect/revocation', body: FORM, handle: (context) => revoke(context, env) }
}

async function revoke(context: Context, env: RevocationEnv): Promise<void> {
  const form = readForm(context)
  const client = await authenticateClient(context, form, env)
  // token_type_hint is not needed (§2.1): the token itself shows its type.
  const revoked = await revokeToken(required(form, 'token'), client.id, env)
  if (revoked !== undefined) {
    env.audit.record({
      event: 'token.revoked',
      actor: revoked.subject,
      client: client.id,
      address: context.address,
      requestId: context.id,
      details: { what: revoked.what, token: revoked.tokenId, grant: revoked.grantId },
    })
  }
  context.end(200)
}

interface Revoked {
  readonly what: 'access_token' | 'refresh_token'
  readonly subject: string
  readonly tokenId?: string | undefined
  readonly grantId?: string | undefined
}

/** A token of another client stays valid (C-83). */
async function revokeToken(token: string, clientId: string, env: RevocationEnv): Promise<Revoked | undefined> {
  const principal = await env.authenticate(token)
  if (principal !== undefined) {
    if (principal.clientId !== clientId) return undefined
    await env.revocations.revokeToken(principal.tokenId, principal.expiresAt * 1000)
    return { what: 'access_token', subject: principal.subject, tokenId: principal.tokenId, grantId: principal.grantId }
  }
  const found = await env.stores.refreshTokens.find(token)
  if (found === undefined || found.grant.clientId !== clientId) return undefined
  // Otherwise a public client could repeat it endlessly.
  if (found.grant.revokedAt !== undefined) return undefined
  // §2.1: revoking a refresh token revokes all access tokens of its grant.
  await env.revocations.revokeGrant(found.grant.id)
  return { what: 'refresh_token', subject: found.grant.userId, grantId: found.grant.id }
}
