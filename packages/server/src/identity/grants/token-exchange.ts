/**
 * Token exchange (RFC 8693): an API that was called with a user's access token gets another one for the same user, with which it calls the
 * next service. The new token says who acts (`act`), and ends with the token that it came from.
 */
import { type Actor, type AncestorToken, isRight, type Principal } from 'gatehouse-protocol'
import type { User } from '../../store/accounts/user.ts'
import type { KnownScopes } from '../../store/apis/known-scopes.ts'
import type { Grant } from '../../store/authorizations/grants.ts'
import type { Client } from '../../store/clients/client-metadata.ts'
import { chooseTarget, isForAgents, scopesOfTarget } from '../apis/targets.ts'
import { required } from '../clients/client-request.ts'
import { refuse } from '../oauth-error.ts'
import { deriveAcr, MULTI_FACTOR } from '../tokens/claims.ts'
import { limitToRights, parseScope, scopeNames } from '../tokens/scope.ts'
import type { GrantEnv, GrantRequest, Redeemed } from './grant.ts'

/** RFC 8693 §3. */
export const ACCESS_TOKEN_TYPE = 'urn:ietf:params:oauth:token-type:access_token'
const MOST_ACTORS = 4

export async function redeemTokenExchange(request: GrantRequest, env: GrantEnv): Promise<Redeemed> {
  const { client, form, audience, countUser } = request
  if (client.public) throw refuse('unauthorized_client', 'A public client cannot use this grant')
  const known = env.apis.known()
  const api = client.api === undefined ? undefined : known.find(client.api)
  if (api === undefined) throw refuse('unauthorized_client', 'The client is registered as no API that is declared')
  checkParameters(request)
  const subject = await readSubject(required(form, 'subject_token'), api.resource, env)
  requireKey(subject, request.boundKey)
  const ancestors = listAncestors(subject)
  const { user, grant } = await findUser(subject, client, env)
  countUser(user)

  const available = [...exchangeableScopes(client, known, subject.scopes)]
  const requested = parseScope(form.get('scope'), known) ?? available
  const isOfAgents = audience !== undefined && isForAgents([audience], known)
  const others = requested.filter((scope) => !available.includes(scope))
  if (others.length > 0 && !isOfAgents)
    throw refuse('invalid_scope', `${scopeNames(others)} not available to this exchange`)
  const target = chooseTarget({ named: audience, audiences: undefined, granted: requested }, known)
  const allowed = requested.filter((scope) => available.includes(scope))
  const scopes = scopesOfTarget(limitToRights(allowed, user), target, known)
  if (scopes.length === 0) throw refuse('invalid_scope', 'The user holds none of the scopes')
  const actor: Actor = { sub: client.id, ...(subject.actor && { act: subject.actor }) }
  return {
    scopes,
    target,
    onBehalfOf: { user, grant },
    exchange: { actor, ancestors, subjectTokenId: subject.tokenId, expiresAt: subject.expiresAt },
  }
}

/** The rights that the client can get: in the API that it is, those of the subject token; elsewhere those of its registration. */
export function exchangeableScopes(
  client: Client,
  known: KnownScopes,
  ofSubject: Iterable<string>,
): ReadonlySet<string> {
  const isOwn = (scope: string) => known.findAudience(scope) === client.api
  const elsewhere = [...client.exchangeScopes].filter((scope) => !isOwn(scope))
  return new Set([...[...ofSubject].filter(isOwn), ...elsewhere].filter((scope) => isRight(scope) && known.has(scope)))
}

function checkParameters({ form }: GrantRequest): void {
  if (required(form, 'subject_token_type') !== ACCESS_TOKEN_TYPE)
    throw refuse('invalid_request', `subject_token_type must be ${ACCESS_TOKEN_TYPE}`)
  if ((form.get('requested_token_type') ?? ACCESS_TOKEN_TYPE) !== ACCESS_TOKEN_TYPE)
    throw refuse('invalid_request', `requested_token_type can only be ${ACCESS_TOKEN_TYPE}`)
  for (const name of ['actor_token', 'actor_token_type'])
    if (form.get(name) !== undefined)
      throw refuse('invalid_request', `${name} is not supported: the client that exchanges the token is the actor`)
  if (form.get('audience') !== undefined)
    throw refuse('invalid_target', 'audience is not supported: name the target with resource')
}

/** One text for every fault: a client learns nothing about tokens that are not meant for it. */
async function readSubject(token: string, api: string, { authenticate }: GrantEnv): Promise<Principal> {
  const subject = await authenticate(token)
  if (subject === undefined) throw notAccepted('invalid, expired or revoked')
  if (!subject.audiences.includes(api)) throw notAccepted('for another API')
  if (subject.kind !== 'user') throw notAccepted('of a client that acts for itself')
  return subject
}

/**
 * A bound token is worth nothing without its key, also here: otherwise anyone who holds it together with the credentials of an API would turn it
 * into one that needs no key. The new token is bound to the same key.
 */
function requireKey({ boundKey }: Principal, proven: string | undefined): void {
  if (boundKey === undefined || boundKey === proven) return
  throw refuse(
    'invalid_request',
    'The subject_token is bound to a key: the request needs a proof by that key in the DPoP header',
  )
}

function listAncestors(subject: Principal): readonly AncestorToken[] {
  const { tokenId, clientId, issuedAt, keyId = '', ancestors = [] } = subject
  const all = [{ tokenId, clientId, issuedAt, keyId }, ...ancestors]
  if (all.length > MOST_ACTORS)
    throw refuse('invalid_request', `A token can be exchanged ${MOST_ACTORS} times at most, one after the other`)
  return all
}

async function findUser(
  subject: Principal,
  client: Client,
  { stores, clock }: GrantEnv,
): Promise<{ user: User; grant: Grant }> {
  const [user, grant] = await Promise.all([
    stores.users.findById(subject.subject),
    subject.grantId === undefined ? undefined : stores.grants.find(subject.grantId),
  ])
  if (user === undefined || user.disabled) throw notAccepted('user deleted or disabled')
  if (grant === undefined || grant.revokedAt !== undefined || grant.expiresAt <= clock())
    throw notAccepted('its grant has ended')
  const needsSecondFactor = user.requiresSecondFactor || client.requireSecondFactor
  if (needsSecondFactor && deriveAcr(grant.details.amr) !== MULTI_FACTOR) throw notAccepted('second factor required')
  return { user, grant }
}

/** RFC 8693 §2.2.2. */
function notAccepted(why: string) {
  return refuse('invalid_request', 'The subject_token is not a valid access token of a user for this API', {
    why: `subject token: ${why}`,
  })
}
