/**
 * ID-JAG (Identity Assertion JWT Authorization Grant, with RFC 7523 §2.1): the provider of a firm vouches for one of its users to an agent.
 * The agent gets an access token for agents, without a page. Nobody is created: the identity must be linked to a user.
 */
import { isRight } from 'gatehouse-protocol'
import { splitWords } from '../../lib/words.ts'
import type { StoredProvider } from '../../store/providers/providers.ts'
import { isAgentAddress, isForAgents, scopesOfTarget } from '../apis/targets.ts'
import { required } from '../clients/client-request.ts'
import { refuse } from '../oauth-error.ts'
import { JwtFault, verifyForeignJwt } from '../remote-keys/foreign-jwt.ts'
import { DocumentUnavailable } from '../remote-keys/remote-documents.ts'
import { MOST_PROVIDER_BYTES, metadataAddress } from '../remote-keys/remote-keys.ts'
import { deriveAcr, FEDERATED, MULTI_FACTOR } from '../tokens/claims.ts'
import { type Claims, parseJwt } from '../tokens/jwt.ts'
import { limitToRights, readAllowedScopes } from '../tokens/scope.ts'
import { createGrant, type GrantEnv, type GrantRequest, type Redeemed } from './grant.ts'

const TYPE = 'oauth-id-jag+jwt'
const LONGEST_SECONDS = 300
/** Clocks may differ by this much. */
const SKEW_SECONDS = 60
const LONGEST_TEXT = 255

export async function redeemIdJag(request: GrantRequest, env: GrantEnv): Promise<Redeemed> {
  const { client, form, countUser } = request
  if (client.public) throw refuse('unauthorized_client', 'A public client cannot use this grant')
  const known = env.apis.known()
  const resource = known.agents?.resource
  if (resource === undefined) throw refuse('unauthorized_client', 'This server has nothing for agents')
  if (request.audience !== undefined && !isForAgents([request.audience], known))
    throw refuse('invalid_target', 'An assertion is for agents: their resource is all that it can name')
  // Older nodes could not read the grant.
  if ((await env.stores.nodes.older()).length > 0)
    throw refuse('temporarily_unavailable', 'This grant is available when all nodes are of this version')

  const { provider, claims } = await verified(required(form, 'assertion'), request, env)
  const user = await findUser(provider, claims, env)
  countUser(user)
  const amr = [FEDERATED, ...(isMultiFactor(provider, claims) ? ['mfa'] : [])]
  if ((user.requiresSecondFactor || client.requireSecondFactor) && deriveAcr(amr) !== MULTI_FACTOR)
    throw notAccepted('second factor required')

  const audiences = [resource]
  const ofClient = readAllowedScopes(form.get('scope'), client, audiences, known).filter(isRight)
  const ofAssertion = claims.scope === undefined ? ofClient : splitWords(String(claims.scope))
  const target = { resource, audiences }
  const allowed = limitToRights(ofClient, user).filter((scope) => ofAssertion.includes(scope))
  const scopes = scopesOfTarget(allowed, target, known)
  // Last: an assertion that is refused for another reason can be sent again.
  if (!(await env.stores.spentJwts.spend('id-jag', provider.id, String(claims.jti), Number(claims.exp) * 1000)))
    throw notAccepted('jti was used before')
  const { grant } = await createGrant(
    {
      kind: 'jwt_bearer',
      clientId: client.id,
      userId: user.id,
      sessionId: undefined,
      scopes,
      authTime: readTime(claims.auth_time) ?? env.clock(),
      details: { amr, acr: deriveAcr(amr), audiences },
    },
    client,
    env,
  )
  return { scopes, target, onBehalfOf: { user, grant } }
}

interface Verified {
  readonly provider: StoredProvider
  readonly claims: Claims
}

/** One text for every fault: the reason is in the audit log. */
async function verified(assertion: string, request: GrantRequest, env: GrantEnv): Promise<Verified> {
  const issuer = parseJwt(assertion)?.claims.iss
  const provider = env.providers.list().find((each) => each.agents && listIssuers(each).some((name) => name === issuer))
  if (provider === undefined || typeof issuer !== 'string') throw notAccepted('of no provider with agents: true')
  try {
    const options = { allowPrivate: provider.private, mostBytes: MOST_PROVIDER_BYTES }
    const keys = await env.remoteKeys()
    const metadata = await keys.metadata(metadataAddress(issuer), options)
    if (metadata.issuer !== issuer) throw new JwtFault('the metadata of its issuer name another one')
    const { header, claims } = await verifyForeignJwt(assertion, keys.finder(metadata.jwksUri, options))
    if (header.typ !== TYPE) throw new JwtFault(`typ is not ${TYPE}`)
    checkClaims(claims, request, env)
    return { provider, claims }
  } catch (error) {
    if (error instanceof JwtFault) throw notAccepted(error.message)
    if (error instanceof DocumentUnavailable) throw notAccepted('the keys of its issuer could not be fetched')
    throw error
  }
}

function checkClaims(claims: Claims, { client }: GrantRequest, { issuer, apis, clock }: GrantEnv): void {
  const { aud, resource, client_id: clientId, jti, iat, nbf, exp, sub, scope } = claims
  const now = clock() / 1000
  if (typeof exp !== 'number' || exp <= now) throw new JwtFault('it has expired')
  if (typeof iat !== 'number' || iat > now + SKEW_SECONDS) throw new JwtFault('iat is missing, or in the future')
  if (nbf !== undefined && (typeof nbf !== 'number' || nbf > now + SKEW_SECONDS))
    throw new JwtFault('it is not valid yet')
  if (exp - iat > LONGEST_SECONDS) throw new JwtFault('it is valid for more than five minutes')
  if (alone(aud) !== issuer.name) throw new JwtFault('aud is not this issuer alone')
  if (clientId !== client.id) throw new JwtFault('client_id is another client')
  const [named, ofAgents] = [alone(resource), apis.known().agents?.resource ?? '']
  if (typeof named !== 'string' || !isAgentAddress(named, ofAgents))
    throw new JwtFault('resource is not that of agents alone')
  for (const [name, value] of Object.entries({ jti, sub }))
    if (typeof value !== 'string' || value === '' || value.length > LONGEST_TEXT)
      throw new JwtFault(`${name} is missing`)
  if (scope !== undefined && typeof scope !== 'string') throw new JwtFault('scope is not a text')
}

async function findUser(provider: StoredProvider, { iss, sub }: Claims, { stores }: GrantEnv) {
  const identity = await stores.identities.find(String(iss), String(sub))
  if (identity === undefined || identity.provider !== provider.id) throw notAccepted('its identity is not linked')
  const user = await stores.users.findById(identity.userId)
  if (user === undefined || user.disabled) throw notAccepted('user deleted or disabled')
  return user
}

/** As at a sign-in through the provider. */
function isMultiFactor({ trustMfa }: StoredProvider, { amr, acr }: Claims): boolean {
  const methods: readonly unknown[] = Array.isArray(amr) ? amr : []
  return trustMfa.amr.some((value) => methods.includes(value)) || trustMfa.acr.some((value) => value === acr)
}

/** Of a template of Entra, one for each listed tenant. */
function listIssuers({ issuer, tenants }: StoredProvider): readonly string[] {
  return tenants.length === 0 ? [issuer] : tenants.map((tenant) => issuer.replace('{tenantid}', tenant))
}

/** A longer list would let another server that it names use the assertion here. */
function alone(value: unknown): unknown {
  return Array.isArray(value) && value.length === 1 ? value[0] : value
}

function readTime(seconds: unknown): number | undefined {
  return typeof seconds === 'number' && Number.isFinite(seconds) ? seconds * 1000 : undefined
}

function notAccepted(why: string) {
  return refuse('invalid_grant', 'The assertion is not accepted', { why: `assertion: ${why}` })
}
