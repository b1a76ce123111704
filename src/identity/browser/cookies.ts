/** The three cookies of a browser: the session, the secret of its forms, and the mark that the session iframe reads. */
import type { CookieKind } from '../../http/cookies.ts'

export interface BrowserCookies {
  /** The credential. */
  readonly session: CookieKind
  /** Anti-forgery, from before the sign-in on. */
  readonly form: CookieKind
  /** No credential: changes with the session, so that the session iframe can tell. Its script must read it. */
  readonly mark: CookieKind
}

/**
 * Over https the session and the mark are SameSite=None: silent renewal and the session iframe run in frames of other
 * sites. Every form carries a token of the Lax cookie, and no page can be framed, so that None opens nothing else.
 * Browsers refuse Secure and __Host- over plain http, which is there for loopback only; all ports of localhost are one
 * site, so Lax serves the frames too.
 */
export function browserCookies(issuer: string): BrowserCookies {
  const secure = issuer.startsWith('https:')
  const prefix = secure ? '__Host-' : ''
  const framed = secure ? 'None' : 'Lax'
  return {
    session: { name: `${prefix}gatehouse`, secure, httpOnly: true, sameSite: framed },
    form: { name: `${prefix}gatehouse-form`, secure, httpOnly: true, sameSite: 'Lax' },
    mark: { name: `${prefix}gatehouse-mark`, secure, httpOnly: false, sameSite: framed },
  }
}
