/** A request of a browser: its session and user, and the anti-forgery token of its forms. */
import { hash, timingSafeEqual } from 'node:crypto'
import { Refusal } from 'gatehouse-protocol'
import type { Context } from '../../http/context.ts'
import type { RateLimits } from '../../http/limits/rate-limits.ts'
import { FORM, type FormParameters, formParameters, queryParameters } from '../../http/request/body.ts'
import { readCookie, setCookie } from '../../http/request/cookies.ts'
import type { Route } from '../../http/route.ts'
import type { User } from '../../store/accounts/user.ts'
import type { Users } from '../../store/accounts/users.ts'
import type { OpenedSession, Session, Sessions, SignIn } from '../../store/authorizations/sessions.ts'
import { digestSecret, newSecret } from '../../store/keys/opaque.ts'
import type { BrowserCookies } from './cookies.ts'

export interface BrowserContext {
  readonly http: Context
  readonly session: Session | undefined
  /** The user of the session; undefined if that user is disabled or deleted. */
  readonly user: User | undefined
  /** Identifies the browser in interactions. Created on first use, so that frames without forms set no cookie. */
  browser(): string
  /** Bound to the browser on pages before the sign-in, which stay open in other tabs; else to one session. */
  formToken(boundTo: 'browser' | 'session'): string
  /** Throws unless the form carries the token of this browser (C-02). */
  checkForm(form: FormParameters, boundTo: 'browser' | 'session'): void
  proof(amr: readonly string[]): SignIn
  /** The same request in the new session. */
  signedIn(opened: OpenedSession, user: User): SignedInBrowser
  signedOut(): void
}

export type SignedInBrowser = BrowserContext & { readonly session: Session; readonly user: User }

export interface BrowserContextEnv {
  readonly cookies: BrowserCookies
  readonly sessions: Pick<Sessions, 'find'>
  readonly users: Pick<Users, 'findById'>
  readonly rateLimits: Pick<RateLimits, 'countCaller'>
}

export async function openBrowserContext(http: Context, env: BrowserContextEnv): Promise<BrowserContext> {
  const cookie = readCookie(http.headers.cookie, env.cookies.session)
  const session = cookie === undefined ? undefined : await env.sessions.find(cookie)
  const user = session === undefined ? undefined : await env.users.findById(session.userId)
  if (user === undefined || user.disabled) return describe(http, env, undefined)
  http.identify({ user: user.id })
  env.rateLimits.countCaller('pages', http.address, { user: user.id })
  return describe(http, env, session === undefined ? undefined : { session, user })
}

/** For error replies when nothing can be read. */
export function openAnonymousContext(http: Context, env: BrowserContextEnv): BrowserContext {
  return describe(http, env, undefined)
}

/** A page: its context, and the query string as parameters. */
export function pageRoute<Env extends BrowserContextEnv>(
  path: string,
  show: (context: BrowserContext, query: FormParameters, env: Env) => void | Promise<void>,
  env: Env,
): Route {
  return {
    method: 'GET',
    path,
    handle: async (http) => show(await openBrowserContext(http, env), queryParameters(http), env),
  }
}

/** A form that a page posts: it carries the anti-forgery token of the browser or of its session (C-02). */
export function formRoute<Env extends BrowserContextEnv>(
  path: string,
  boundTo: 'browser' | 'session',
  take: (context: BrowserContext, form: FormParameters, env: Env) => void | Promise<void>,
  env: Env,
): Route {
  return {
    method: 'POST',
    path,
    body: FORM,
    async handle(http) {
      const context = await openBrowserContext(http, env)
      const form = formParameters(http)
      context.checkForm(form, boundTo)
      return take(context, form, env)
    },
  }
}

export function isSignedIn(context: BrowserContext): context is SignedInBrowser {
  return context.session !== undefined && context.user !== undefined
}

function describe(
  http: Context,
  env: BrowserContextEnv,
  signedIn: { session: Session; user: User } | undefined,
  knownSecret?: string,
): BrowserContext {
  const { cookies } = env
  const session = signedIn?.session
  let secret = knownSecret ?? readCookie(http.headers.cookie, cookies.form)
  const formSecret = () => {
    if (secret === undefined) {
      secret = newSecret()
      http.addCookie(setCookie(cookies.form, secret))
    }
    return secret
  }
  const formToken = (boundTo: 'browser' | 'session') =>
    hash('sha256', `form ${formSecret()} ${boundTo === 'session' ? (session?.id ?? '') : ''}`, 'base64url')
  return {
    http,
    session,
    user: signedIn?.user,
    browser: () => digestSecret(formSecret()),
    formToken,
    checkForm(form, boundTo) {
      const expected = Buffer.from(formToken(boundTo))
      const sent = Buffer.from(form.get('form_token') ?? '')
      if (sent.length !== expected.length || !timingSafeEqual(sent, expected))
        throw new Refusal('page.forged', 403, 'The form does not carry the token of this browser')
    },
    proof: (amr) => ({ amr, userAgent: http.headers['user-agent'] ?? '', address: http.address }),
    signedIn(opened, user) {
      http.addCookie(setCookie(cookies.session, opened.cookie))
      http.addCookie(setCookie(cookies.mark, opened.session.browserState))
      http.identify({ user: user.id })
      const context = describe(http, env, { session: opened.session, user }, secret)
      return { ...context, session: opened.session, user }
    },
    signedOut() {
      for (const kind of [cookies.session, cookies.mark, cookies.form]) http.addCookie(setCookie(kind, undefined))
    },
  }
}
