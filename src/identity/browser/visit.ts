/** One request of a browser: whose session it is, and the anti-forgery secret that its forms are bound to. */
import { hash, timingSafeEqual } from 'node:crypto'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { readCookie, setCookie } from '../../http/cookies.ts'
import type { Doors } from '../../http/doors.ts'
import type { Parameters } from '../../http/form.ts'
import { Refusal } from '../../protocol/refusal.ts'
import { digestOf, newSecret } from '../../store/opaque.ts'
import type { OpenedSession, Proof, Session, Sessions } from '../../store/sessions.ts'
import type { User, Users } from '../../store/users.ts'
import type { BrowserCookies } from './cookies.ts'

export interface Visit {
  readonly request: FastifyRequest
  readonly reply: FastifyReply
  readonly session: Session | undefined
  /** Of the session; a session whose user is disabled or gone counts for nothing. */
  readonly user: User | undefined
  /** Names the browser to interactions. Made on first use, so that frames without forms leave no cookie. */
  browser(): string
  /** For pages before the sign-in (`browser`), which outlive it in other tabs, and pages of one session. */
  formToken(boundTo: 'browser' | 'session'): string
  /** Throws unless the form carries the token of this browser (C-02). */
  checkForm(form: Parameters, boundTo: 'browser' | 'session'): void
  proof(amr: readonly string[]): Proof
  /** The visit as it goes on in the new session. */
  signedIn(opened: OpenedSession, user: User): SignedInVisit
  signedOut(): void
}

export type SignedInVisit = Visit & { readonly session: Session; readonly user: User }

export interface VisitEnv {
  readonly cookies: BrowserCookies
  readonly sessions: Pick<Sessions, 'find'>
  readonly users: Pick<Users, 'findById'>
  readonly doors: Pick<Doors, 'admit'>
}

export async function openVisit(request: FastifyRequest, reply: FastifyReply, env: VisitEnv): Promise<Visit> {
  const cookie = readCookie(request.headers.cookie, env.cookies.session)
  const session = cookie === undefined ? undefined : await env.sessions.find(cookie)
  const user = session === undefined ? undefined : await env.users.findById(session.userId)
  if (user === undefined || user.disabled) return describe(request, reply, env, undefined)
  env.doors.admit('pages', request.ip, { user: user.id })
  return describe(request, reply, env, session === undefined ? undefined : { session, user })
}

/** Somebody of whom nothing is known, for when nothing can be read. */
export function openStrangersVisit(request: FastifyRequest, reply: FastifyReply, env: VisitEnv): Visit {
  return describe(request, reply, env, undefined)
}

export function isSignedIn(visit: Visit): visit is SignedInVisit {
  return visit.session !== undefined && visit.user !== undefined
}

function describe(
  request: FastifyRequest,
  reply: FastifyReply,
  env: VisitEnv,
  signedIn: { session: Session; user: User } | undefined,
  knownSecret?: string,
): Visit {
  const { cookies } = env
  const session = signedIn?.session
  let secret = knownSecret ?? readCookie(request.headers.cookie, cookies.form)
  const formSecret = () => {
    if (secret === undefined) {
      secret = newSecret()
      reply.header('set-cookie', setCookie(cookies.form, secret))
    }
    return secret
  }
  const formToken = (boundTo: 'browser' | 'session') =>
    hash('sha256', `form ${formSecret()} ${boundTo === 'session' ? (session?.id ?? '') : ''}`, 'base64url')
  return {
    request,
    reply,
    session,
    user: signedIn?.user,
    browser: () => digestOf(formSecret()),
    formToken,
    checkForm(form, boundTo) {
      const expected = Buffer.from(formToken(boundTo))
      const sent = Buffer.from(form.get('form_token') ?? '')
      if (sent.length !== expected.length || !timingSafeEqual(sent, expected))
        throw new Refusal('page.forged', 403, 'The form does not carry the token of this browser')
    },
    proof: (amr) => ({ amr, userAgent: request.headers['user-agent'] ?? '', address: request.ip }),
    signedIn(opened, user) {
      reply.header('set-cookie', setCookie(cookies.session, opened.cookie))
      reply.header('set-cookie', setCookie(cookies.mark, opened.session.browserState))
      const visit = describe(request, reply, env, { session: opened.session, user }, secret)
      return { ...visit, session: opened.session, user }
    },
    signedOut() {
      for (const kind of [cookies.session, cookies.mark, cookies.form])
        reply.header('set-cookie', setCookie(kind, undefined))
    },
  }
}
