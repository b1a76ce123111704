/** `/external/{id}/backchannel-logout`: a provider says that a person has signed out there (OpenID Connect Back-Channel Logout §2). */
import { Refusal } from 'gatehouse-protocol'
import type { Context } from '../../../http/context.ts'
import { FORM, formParameters } from '../../../http/request/body.ts'
import type { Route } from '../../../http/route.ts'
import type { Claims } from '../../tokens/jwt.ts'
import type { ConnectorEnv, Federation, ProviderLogout } from '../connector.ts'
import { badAnswer, isProviderFault } from '../faults.ts'
import { checkIssuedAt, checkParties, SKEW, verified } from './id-token.ts'
import { type OpenIdProvider, readMetadata } from './metadata.ts'

const EVENT = 'http://schemas.openid.net/event/backchannel-logout'
/** How old a token without `exp` may be, and the longest that its `jti` is remembered. Seconds. */
const FRESH = 600
const LONGEST = 86_400

export function backchannelLogoutRoute({ find, endSessions }: Federation, env: ConnectorEnv): Route {
  return {
    method: 'POST',
    path: '/external/:id/backchannel-logout',
    body: FORM,
    async handle(http) {
      http.setHeader('cache-control', 'no-store')
      const provider = find(http.param('id'))
      if (provider?.kind !== 'openid' || provider.disabled)
        throw new Refusal('http.not_found', 404, 'There is no such provider')
      try {
        await endSessions(http, provider, await readLogout(http, provider, env))
        http.json({})
      } catch (error) {
        if (!isProviderFault(error)) throw error
        const { cause } = error.details
        const reason = cause instanceof Error ? cause.message : error.message
        http.log.warn({ provider: provider.id, reason }, 'a logout token was refused')
        const isOurs = error.code === 'provider.unavailable'
        http.json({ error: isOurs ? 'temporarily_unavailable' : 'invalid_request' }, isOurs ? 503 : 400)
      }
    },
  }
}

async function readLogout(http: Context, provider: OpenIdProvider, env: ConnectorEnv): Promise<ProviderLogout> {
  const token = formParameters(http).get('logout_token')
  if (token === undefined) throw badAnswer('logout_token is missing')
  const metadata = await readMetadata(provider, env)
  const { header, claims } = await verified(token, provider, metadata, env)
  return checkLogoutToken(header.typ, claims, provider, env.clock() / 1000)
}

/** §2.6, every check. An ID token fails three of them: it has no events, a nonce, and often no jti. */
function checkLogoutToken(typ: unknown, claims: Claims, provider: OpenIdProvider, now: number): ProviderLogout {
  if (typ !== undefined && !['LOGOUT+JWT', 'JWT'].includes(String(typ).toUpperCase()))
    throw badAnswer('The token is of another type')
  const issuer = checkParties(claims, provider)
  const { iat, exp, sub, sid, jti, events, nonce } = claims
  checkIssuedAt(claims, now)
  if (exp !== undefined && (typeof exp !== 'number' || exp <= now - SKEW || exp > now + LONGEST))
    throw badAnswer('The logout token has expired, or does so too late')
  if (exp === undefined && Number(iat) < now - FRESH) throw badAnswer('The logout token is too old')
  if (nonce !== undefined) throw badAnswer('A logout token has no nonce')
  if (typeof events !== 'object' || events === null || !Object.hasOwn(events, EVENT) || !isObjectIn(events))
    throw badAnswer('The token is no logout token: it lacks the event')
  if (typeof jti !== 'string' || jti === '') throw badAnswer('The logout token has no jti')
  const [hasSubject, hasSid] = [typeof sub === 'string' && sub !== '', typeof sid === 'string' && sid !== '']
  if ((sub !== undefined && !hasSubject) || (sid !== undefined && !hasSid) || (!hasSubject && !hasSid))
    throw badAnswer('The logout token names neither a sub nor a sid')
  return {
    issuer,
    jti,
    sid: hasSid ? String(sid) : undefined,
    subject: hasSubject ? String(sub) : undefined,
    keptMs: (Math.max(Number(exp ?? 0), Number(iat) + FRESH) - now + 2 * SKEW) * 1000,
  }
}

function isObjectIn(events: object): boolean {
  const value: unknown = Object.entries(events).find(([name]) => name === EVENT)?.[1]
  return typeof value === 'object' && value !== null
}
