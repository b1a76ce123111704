/** The supported scopes in the order of the discovery document, and their audiences. */

/** Those of streams and queries. */
export const PLATFORM_SCOPES = [
  'Platform/Market',
  'Platform/News',
  'Platform/Trading',
  'Platform/OrderPad',
  'Platform/Admin',
] as const

export const SCOPES = [
  'openid',
  'profile',
  'email',
  'roles',
  'Identity/Admin',
  ...PLATFORM_SCOPES,
  'offline_access',
] as const

export type Scope = (typeof SCOPES)[number]

/** Where agents call: the Model Context Protocol. Below the issuer, it is the audience of their tokens. */
export const AGENT_PATH = '/mcp'

export const PLATFORM_AUDIENCE = 'platform'
export const IDENTITY_AUDIENCE = 'identity'

/** The right to provision users. It exists where SCIM is on; clients are registered for it, and no role gives it. */
export const PROVISIONING_SCOPE = 'Identity/Provisioning'

/** The right to ask what others may use of products (AuthZEN). Clients are registered for it, and no role gives it. */
export const DECISIONS_SCOPE = 'Platform/Decisions'

/** They request claims about the user, or a refresh token. The last two are those of OpenID Connect Core §5.4 that are not offered. */
const OPENID_SCOPES: ReadonlySet<string> = new Set([
  'openid',
  'profile',
  'email',
  'roles',
  'offline_access',
  'address',
  'phone',
])

/** Whether the scope is a right, which users hold through roles. All scopes of APIs are. */
export function isRight(scope: string): boolean {
  return !OPENID_SCOPES.has(scope)
}

/** Names that no API can give to a scope of its own: built-in ones, also in other case, and those that may become built in. */
export function isReservedScope(name: string): boolean {
  const folded = name.toLowerCase()
  return folded.startsWith('identity/') || folded.startsWith('platform/') || OPENID_SCOPES.has(folded)
}

/** Those that open streams and queries. */
export function isPlatformScope(scope: string): boolean {
  return scope.startsWith('Platform/') && scope !== DECISIONS_SCOPE
}

/**
 * Whether a token for the built-in services with this scope may use streams and queries at all. A custom right opens only the tables,
 * feeds and topics that name it; the built-in ones also open those that name none.
 */
export function opensPlatform(scope: string): boolean {
  return scope !== DECISIONS_SCOPE && (isPlatformScope(scope) || (isRight(scope) && !scope.startsWith('Identity/')))
}

/** RFC 9068 §2.2: the audience is the API of the scope, never the client. */
export function scopeAudiences(scopes: Iterable<string>): string[] {
  const audiences = new Set<string>()
  for (const scope of scopes) audiences.add(isPlatformScope(scope) ? PLATFORM_AUDIENCE : IDENTITY_AUDIENCE)
  return [...audiences]
}
