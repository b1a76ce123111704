/** The cookies of a browser: the session, the anti-forgery secret, the session state that the session iframe reads, and where mail is set up one that recognises the browser. */
import type { CookieKind } from '../../http/request/cookies.ts'

export interface BrowserCookies {
  /** The credential. */
  readonly session: CookieKind
  /** The anti-forgery secret; set before the sign-in. */
  readonly form: CookieKind
  /** Not a credential: it changes with the session, and the script of the session iframe reads it. */
  readonly mark: CookieKind
  /** Not a credential: it recognises a browser in which a person has signed in. Only set where mail is set up. */
  readonly known: CookieKind
}

/** Longer than a browser counts as known, so that what decides is stored here; browsers keep no cookie longer. */
const KNOWN_SECONDS = 400 * 86_400

/**
 * Over https the session and session-state cookies are SameSite=None: silent renewal and the session iframe run in frames of other
 * sites. Every form carries a token of the Lax cookie and no page can be framed, so None adds no risk.
 * Browsers reject Secure and __Host- over plain http, which is for loopback only; all ports of localhost are one
 * site, so Lax works in frames as well.
 */
export function browserCookies(issuer: string): BrowserCookies {
  const secure = issuer.startsWith('https:')
  const prefix = secure ? '__Host-' : ''
  const framed = secure ? 'None' : 'Lax'
  return {
    session: { name: `${prefix}gatehouse`, secure, httpOnly: true, sameSite: framed },
    form: { name: `${prefix}gatehouse-form`, secure, httpOnly: true, sameSite: 'Lax' },
    mark: { name: `${prefix}gatehouse-mark`, secure, httpOnly: false, sameSite: framed },
    known: { name: `${prefix}gatehouse-browser`, secure, httpOnly: true, sameSite: 'Lax', maxAge: KNOWN_SECONDS },
  }
}
