/** Gives what the request asked for: a grant first, then the code and tokens that descend from it (B-04). */
import type { Client } from '../../store/client-metadata.ts'
import type { Session } from '../../store/sessions.ts'
import type { User } from '../../store/users.ts'
import { acrOf } from '../acr.ts'
import type { BrowserEnv } from '../browser/env.ts'
import { familyLifetime } from '../grants/family.ts'
import type { Answer } from './deliver.ts'
import { type AuthorizationRequest, gives, isOpenid } from './request.ts'
import { sessionState } from './session-state.ts'

export interface Granted {
  readonly request: AuthorizationRequest
  readonly client: Client
  readonly session: Session
  readonly user: User
  readonly scopes: readonly string[]
  readonly address: string
  readonly requestId: string
  /** Asks anew whether the request can be answered so. */
  readonly stillStands: () => Promise<boolean>
}

/** B-40: long enough for a slow redirect, too short to be found in a log and used. */
const CODE_LIFETIME_MS = 60_000

type RespondEnv = Pick<
  BrowserEnv,
  'grants' | 'codes' | 'sessions' | 'issuer' | 'takeBack' | 'audit' | 'clock' | 'lifetimes'
>

/** Undefined when the person was cut off, or took back their consent, before there was a grant that could fall with it. */
export async function respond(granted: Granted, env: RespondEnv): Promise<Answer | undefined> {
  const { request, client, session, user, scopes, address, requestId } = granted
  const { responseType, target, nonce, challenge, claims } = request
  const withCode = gives(responseType, 'code')
  const grant = await env.grants.create({
    kind: withCode ? 'authorization_code' : 'implicit',
    clientId: client.id,
    userId: user.id,
    sessionId: session.id,
    scopes,
    authTime: session.authTime,
    details: { amr: session.amr, acr: acrOf(session.amr), claims },
    expiresAt: env.clock() + (withCode ? CODE_LIFETIME_MS : 0) + familyLifetime(scopes, client, env),
  })
  const code = withCode
    ? await env.codes.issue(grant.id, { redirectUri: target.redirectUri, nonce, challenge }, CODE_LIFETIME_MS)
    : undefined
  const access = gives(responseType, 'token')
    ? await env.issuer.accessToken(client, scopes, { user, grant })
    : undefined
  const idToken = gives(responseType, 'id_token')
    ? await env.issuer.idToken({
        client,
        user,
        grant,
        nonce,
        accessToken: access?.token,
        code,
        withScopeClaims: responseType === 'id_token',
      })
    : undefined
  // Last of all: a cut that comes after this finds the grant to revoke, and every token older than itself.
  if (!(await granted.stillStands())) {
    await env.takeBack.grant(grant.id)
    return undefined
  }
  const openid = isOpenid(request)
  if (openid) await env.sessions.addClient(session.id, client.id)
  env.audit.record({
    event: 'authorization.granted',
    actor: user.id,
    client: client.id,
    address,
    requestId,
    details: { response_type: responseType, scope: scopes, grant: grant.id },
  })
  return {
    code,
    access_token: access?.token,
    token_type: access === undefined ? undefined : 'Bearer',
    expires_in: access === undefined ? undefined : String(access.lifetime),
    scope: access === undefined || sameWords(scopes, request.askedScopes) ? undefined : scopes.join(' '),
    id_token: idToken,
    session_state: openid ? sessionState(client.id, target.redirectUri, session.browserState) : undefined,
  }
}

function sameWords(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((word) => b.includes(word))
}
