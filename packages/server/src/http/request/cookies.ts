/** Cookies (RFC 6265), always host-only and for all paths. */

export interface CookieKind {
  readonly name: string
  readonly secure: boolean
  readonly httpOnly: boolean
  readonly sameSite: 'Lax' | 'None' | 'Strict'
  /** Seconds; without it the cookie ends with the browser. */
  readonly maxAge?: number
}

export function readCookie(header: string | undefined, { name }: Pick<CookieKind, 'name'>): string | undefined {
  for (const pair of (header ?? '').split(';')) {
    const equals = pair.indexOf('=')
    if (equals > 0 && pair.slice(0, equals).trim() === name) {
      const value = pair.slice(equals + 1).trim()
      return value === '' ? undefined : value
    }
  }
  return undefined
}

/** Values are base64url and need no quoting. Without a value the cookie is deleted. */
export function setCookie(kind: CookieKind, value: string | undefined): string {
  return [
    `${kind.name}=${value ?? ''}`,
    'Path=/',
    ...(value === undefined ? ['Max-Age=0'] : kind.maxAge === undefined ? [] : [`Max-Age=${kind.maxAge}`]),
    ...(kind.secure ? ['Secure'] : []),
    ...(kind.httpOnly ? ['HttpOnly'] : []),
    `SameSite=${kind.sameSite}`,
  ].join('; ')
}
