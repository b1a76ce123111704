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

export const PLATFORM_AUDIENCE = 'platform'
export const IDENTITY_AUDIENCE = 'identity'

/** Whether the scope is a right, which users hold through roles. Other scopes request claims or a refresh token. */
export function isRight(scope: string): boolean {
  return scope.includes('/')
}

export function isPlatformScope(scope: string): boolean {
  return scope.startsWith('Platform/')
}

/** RFC 9068 §2.2: the audience is the API of the scope, never the client. */
export function audiencesOf(scopes: Iterable<string>): string[] {
  const audiences = new Set<string>()
  for (const scope of scopes) audiences.add(isPlatformScope(scope) ? PLATFORM_AUDIENCE : IDENTITY_AUDIENCE)
  return [...audiences]
}
