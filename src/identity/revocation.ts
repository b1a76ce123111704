/** POST /connect/revocation (RFC 7009): a client takes its own tokens back; whatever it presents, it learns nothing. */
import type { FastifyInstance } from 'fastify'
import type { Authenticate } from '../protocol/principal.ts'
import type { RefreshTokens } from '../store/refresh-tokens.ts'
import type { TakeBack } from '../store/take-back.ts'
import { authenticateClient, type ClientAuthEnv } from './client-auth.ts'
import { formOf, required } from './oauth-door.ts'
import { callerOf } from './token.ts'

export interface RevocationEnv extends ClientAuthEnv {
  readonly authenticate: Authenticate
  readonly stores: { readonly refreshTokens: Pick<RefreshTokens, 'find'> }
  readonly takeBack: TakeBack
}

export function registerRevocation(app: FastifyInstance, env: RevocationEnv): void {
  app.post('/connect/revocation', async (request, reply) => {
    const form = formOf(request)
    const caller = callerOf(request)
    const client = await authenticateClient(caller, form, env)
    // The hint is only that (§2.1): our tokens tell by themselves what they are.
    const taken = await takeBack(required(form, 'token'), client.id, env)
    if (taken !== undefined) {
      env.audit.record({
        event: 'token.revoked',
        actor: taken.subject,
        client: client.id,
        address: caller.address,
        requestId: caller.requestId,
        details: { what: taken.what, token: taken.tokenId, grant: taken.grantId },
      })
    }
    return reply.send()
  })
}

interface Taken {
  readonly what: 'access_token' | 'refresh_token'
  readonly subject: string
  readonly tokenId?: string | undefined
  readonly grantId?: string | undefined
}

/** A token of another client stays as it is (C-83). */
async function takeBack(token: string, clientId: string, env: RevocationEnv): Promise<Taken | undefined> {
  const principal = await env.authenticate(token)
  if (principal !== undefined) {
    if (principal.clientId !== clientId) return undefined
    await env.takeBack.token(principal.tokenId, principal.expiresAt * 1000)
    return { what: 'access_token', subject: principal.subject, tokenId: principal.tokenId, grantId: principal.grantId }
  }
  const found = await env.stores.refreshTokens.find(token)
  if (found === undefined || found.grant.clientId !== clientId) return undefined
  // §2.1: with a refresh token go all access tokens of its grant.
  await env.takeBack.grant(found.grant.id)
  return { what: 'refresh_token', subject: found.grant.userId, grantId: found.grant.id }
}
