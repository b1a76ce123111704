/**
 * What an access token is for (RFC 8707): the built-in services, agents, or one declared API, never two of them, so that no API can use the
 * tokens of its callers elsewhere. Audiences are `platform` and `identity`, which are built in, the address of agents, and the resources
 * of APIs.
 */
import { IDENTITY_AUDIENCE, isRight, PLATFORM_AUDIENCE, STREAM_PATH } from 'gatehouse-protocol'
import type { KnownScopes } from '../../store/apis/known-scopes.ts'
import { refuse } from '../oauth-error.ts'

/** At the authorization and device authorization endpoints; the token endpoint takes one. */
export const MOST_RESOURCES = 10

export const QUERY_PATH = '/query'
export { STREAM_PATH }

export interface TokenTarget {
  /** The resource of the API, or that of agents; undefined for the built-in services. */
  readonly resource: string | undefined
  /** The audiences whose rights the token may have. */
  readonly audiences: readonly string[]
}

const BUILT_IN_AUDIENCES = [PLATFORM_AUDIENCE, IDENTITY_AUDIENCE]
export const BUILT_IN_TARGET: TokenTarget = { resource: undefined, audiences: BUILT_IN_AUDIENCES }

export function isBuiltInAudience(audience: string): boolean {
  return audience === PLATFORM_AUDIENCE || audience === IDENTITY_AUDIENCE
}

export interface ResourceRules {
  readonly issuer: string
  /** The scopes that the client may ask for. */
  readonly registered: ReadonlySet<string>
  /** Whether the client is an agent: its tokens are for nothing else, whether it says so or not. */
  readonly isAgent: boolean
  readonly known: KnownScopes
  readonly most: number
}

/** The audiences that the `resource` parameters name, compared by character; undefined without any. */
export function readResources(values: readonly string[], rules: ResourceRules): readonly string[] | undefined {
  if (values.length > rules.most)
    throw refuse('invalid_target', `resource may occur ${rules.most === 1 ? 'once' : `up to ${rules.most} times`}`)
  const named = [...new Set(values.map((value) => requireAudience(value, rules)))]
  if (rules.isAgent) return [requireAgentAudience(named, rules)]
  return named.length === 0 ? undefined : named
}

function requireAudience(value: string, rules: ResourceRules): string {
  const { registered, known } = rules
  const audience = findAudience(value, rules)
  if (audience === undefined)
    throw refuse('invalid_target', 'A resource is unknown: it is compared by character with the declared APIs')
  if (![...registered].some((scope) => isIn(audience, scope, known)))
    throw refuse('invalid_target', 'The client is registered for no scope of the resource')
  return audience
}

function findAudience(value: string, { issuer, known }: ResourceRules): string | undefined {
  const { agents } = known
  if (agents !== undefined && isAgentAddress(value, agents.resource)) return agents.resource
  return builtInAudience(value, issuer) ?? (isBuiltInAudience(value) ? undefined : known.find(value)?.resource)
}

/** Agents write the address as their users typed it: a slash at its end, and the case of scheme and host do not matter. */
export function isAgentAddress(value: string, resource: string): boolean {
  const normal = (text: string) =>
    text.replace(/^[^:]*:\/\/[^/?#]*/, (origin) => origin.toLowerCase()).replace(/\/$/, '')
  return normal(value) === normal(resource)
}

function requireAgentAudience(named: readonly string[], { known }: ResourceRules): string {
  const audience = known.agents?.resource
  if (audience === undefined) throw refuse('invalid_target', 'This server has nothing for agents')
  if (named.some((each) => each !== audience))
    throw refuse('invalid_target', 'The client is an agent: its tokens are for no other resource')
  return audience
}

/** The addresses of the built-in services. */
export function builtInAudience(resource: string, issuer: string): string | undefined {
  if (resource === issuer) return IDENTITY_AUDIENCE
  return resource === issuer + QUERY_PATH || resource === issuer + STREAM_PATH ? PLATFORM_AUDIENCE : undefined
}

export interface TargetRequest {
  /** Named by the token request. */
  readonly named: string | undefined
  /** Named by the authorization request; undefined: all. */
  readonly audiences: readonly string[] | undefined
  /** The scopes of the grant, whether the user still holds them or not. */
  readonly granted: readonly string[]
}

/** The target that is named, else the only one, else the built-in services if they are among several. */
export function chooseTarget({ named, audiences, granted }: TargetRequest, known: KnownScopes): TokenTarget {
  if (named !== undefined) {
    if (audiences?.includes(named) === false) throw refuse('invalid_target', 'The grant does not cover this resource')
    return { resource: isBuiltInAudience(named) ? undefined : named, audiences: [named] }
  }
  const candidates = audiences ?? [...new Set(granted.filter(isRight).map((scope) => known.findAudience(scope)))]
  const builtIn = audiences === undefined ? BUILT_IN_AUDIENCES : audiences.filter(isBuiltInAudience)
  const [resource, ...others] = candidates
  if (resource === undefined || candidates.some(isBuiltInAudience)) return { resource: undefined, audiences: builtIn }
  if (others.length > 0)
    throw refuse('invalid_target', 'The token could be for several APIs: name one of them with resource')
  return { resource, audiences: [resource] }
}

/** The scopes of a token for this target: its rights, and the OpenID scopes, which are enough for the identity service alone. */
export function scopesOfTarget(scopes: readonly string[], target: TokenTarget, known: KnownScopes): readonly string[] {
  const left = scopes.filter((scope) => isFor(target, scope, known))
  const isIdentityEnough = target.audiences.includes(IDENTITY_AUDIENCE) && (left.length > 0 || scopes.length === 0)
  if (isIdentityEnough || left.some(isRight)) return left
  throw refuse('invalid_scope', 'No right for the resource is left to the token')
}

/** A right that is no longer declared is for nothing, and what is no right is not for agents. */
export function isFor({ audiences }: Pick<TokenTarget, 'audiences'>, scope: string, known: KnownScopes): boolean {
  if (!isRight(scope)) return !isForAgents(audiences, known)
  return known.has(scope) && audiences.some((audience) => isIn(audience, scope, known))
}

function isIn(audience: string, scope: string, known: KnownScopes): boolean {
  return known.findAudience(scope) === audience || (audience === known.agents?.resource && known.isOfAgents(scope))
}

/** Whether tokens for these audiences are for agents alone. */
export function isForAgents(
  audiences: readonly string[] | undefined,
  { agents }: Pick<KnownScopes, 'agents'>,
): boolean {
  return agents !== undefined && audiences?.length === 1 && audiences[0] === agents.resource
}
