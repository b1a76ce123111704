/** The account pages: what they share, and the password. */
import type { FormParameters } from '../../../http/request/body.ts'
import type { Route } from '../../../http/route.ts'
import { SHORTEST_PASSWORD } from '../../../store/accounts/password-hash.ts'
import { accountPage, passwordPage, SECTIONS, type Section } from '../../pages/account.ts'
import type { FormError } from '../../pages/form-parts.ts'
import type { Html } from '../../pages/html.ts'
import type { PageFrame } from '../../pages/layout.ts'
import type { Messages } from '../../pages/messages/en.ts'
import { chooseDisplayName } from '../../tokens/claims.ts'
import { personAsAuthor } from '../account-author.ts'
import { type BrowserContext, formRoute, isSignedIn, pageRoute, type SignedInBrowser } from '../browser-context.ts'
import type { BrowserEnv } from '../env.ts'
import { type OwnNeeds, type OwnPage, ownPagePath } from '../flow.ts'
import { type FormErrorIn, type FormReply, frameFor, replyLater, sendPage } from '../page-reply.ts'
import { redirectedFirst } from '../proceed.ts'
import { hashNew, lengthFault, openInstead } from '../sign-in/new-password.ts'
import { signOut } from '../sign-out/end-session.ts'

export function accountRoutes(env: BrowserEnv): readonly Route[] {
  return [
    ownPageRoute({ name: 'password' }, async (context) => showPassword(context, env), env),
    accountFormRoute('/account/password', changePassword, env),
    accountFormRoute(
      '/account/sign-out',
      (context) => signOut(context, { clientId: undefined, next: undefined, uiLocales: undefined }, env),
      env,
    ),
  ]
}

export type AccountAction = (context: SignedInBrowser, parameters: FormParameters, env: BrowserEnv) => Promise<void>

/** One of our own pages. A browser that lacks a session, or anything else the page requires, is redirected first. */
export function ownPageRoute(
  page: Exclude<OwnPage, { name: 'device' }>,
  show: AccountAction,
  env: BrowserEnv,
  findNeeds: (context: BrowserContext, env: BrowserEnv) => OwnNeeds = () => ({}),
): Route {
  const act = async (context: BrowserContext, query: FormParameters): Promise<void> => {
    if (await redirectedFirst(context, page, findNeeds(context, env), env)) return
    if (isSignedIn(context)) await show(context, query, env)
  }
  return pageRoute(ownPagePath(page), act, env)
}

/** A page that asks for confirmation before a form of the same path acts; without a session, the section is shown after the sign-in. */
export function askRoute(
  path: string,
  section: Exclude<Section, 'profile'>,
  ask: AccountAction,
  env: BrowserEnv,
): Route {
  const act = async (context: BrowserContext, query: FormParameters): Promise<void> => {
    if (await redirectedFirst(context, { name: section }, {}, env)) return
    if (isSignedIn(context)) await ask(context, query, env)
  }
  return pageRoute(path, act, env)
}

/** The anti-forgery token is bound to the session, so the person who is signed in now is the one who saw the page. */
export function accountFormRoute(path: string, action: AccountAction, env: BrowserEnv): Route {
  const act = async (context: BrowserContext, form: FormParameters): Promise<void> => {
    if (await redirectedFirst(context, { name: 'account' }, {}, env)) return
    if (isSignedIn(context)) await action(context, form, env)
  }
  return formRoute(path, 'session', act, env)
}

/** What happened, for the page that follows; the query string names it, and never contains the text. */
export type Done = keyof Messages['done']

const DONE: ReadonlySet<string> = new Set<Done>([
  'profile',
  'password',
  'session',
  'sessions',
  'access',
  'factor',
  'factor-added',
  'address-asked',
  'linked',
  'unlinked',
  'accepted',
  'trial',
])

export function redirectDone(context: SignedInBrowser, section: Section, done: Done, env: BrowserEnv): void {
  context.http.redirect(sectionAddress(section, done, env))
}

export function sectionAddress(section: Section, done: Done, env: BrowserEnv): string {
  return `${env.pages.base}${SECTIONS[section].path}?done=${done}`
}

export interface SectionReply {
  /** The query string of the request, which may say what happened. */
  readonly query?: FormParameters
  readonly error?: FormErrorIn | undefined
}

export function sendSection(
  context: SignedInBrowser,
  section: Section,
  body: (frame: PageFrame, formError: FormError | undefined) => Html,
  { query, error }: SectionReply,
  env: BrowserEnv,
): void {
  const { user, http } = context
  const frame = frameFor(env.pages, context, { boundTo: 'session' })
  const { messages } = frame.language
  const done = query?.get('done')
  const formError = error?.(messages)
  const page = accountPage(frame, {
    section,
    hasProducts: env.licences.hasProducts,
    username: user.username,
    displayName: chooseDisplayName(user),
    notice: done !== undefined && isDone(done) ? messages.done[done] : undefined,
    formError,
    body: body(frame, formError),
  })
  sendPage(http, page, { status: formError === undefined ? 200 : 400, scripts: "'self'" })
}

function isDone(text: string): text is Done {
  return DONE.has(text)
}

/** The zone that the person has set; times are shown in it. */
export function userZone({ user }: SignedInBrowser): string | undefined {
  const { zoneinfo } = user.profile
  return typeof zoneinfo === 'string' && zoneinfo !== '' ? zoneinfo : undefined
}

function showPassword(context: SignedInBrowser, env: BrowserEnv, again?: FormReply): void {
  const frame = frameFor(env.pages, context, { boundTo: 'session' })
  const formError = again?.error(frame.language.messages)
  const page = passwordPage(frame, { username: context.user.username, leastPassword: SHORTEST_PASSWORD, formError })
  sendPage(context.http, page, { status: again?.status ?? 200, scripts: "'self'" })
}

const WRONG: FormReply = { status: 400, error: (text) => ({ text: text.wrongPassword, field: 'current_password' }) }

/** C-67: ends all sessions and tokens of the user at once. */
async function changePassword(context: SignedInBrowser, form: FormParameters, env: BrowserEnv): Promise<void> {
  const { user, http } = context
  const password = form.get('new_password') ?? ''
  const fault = lengthFault(password)
  if (fault !== undefined) return showPassword(context, env, fault)
  const verdict = await env.checkPassword({
    username: user.username,
    password: form.get('current_password') ?? '',
    address: http.address,
    requestId: http.id,
  })
  if (verdict.outcome === 'wrong') return showPassword(context, env, WRONG)
  if (verdict.outcome !== 'good') return showPassword(context, env, replyLater(http, verdict))
  const hashed = await hashNew(context, password, undefined, env)
  if ('error' in hashed) return showPassword(context, env, hashed)
  const isReplaced = await env.accounts.change(personAsAuthor(context), (accounts) =>
    accounts.setPassword(user.id, hashed.hash, { since: user.passwordChangedAt }),
  )
  // The password that was checked is no longer the current one.
  if (!isReplaced) return showPassword(context, env, WRONG)
  // The person has just proven the old password, and continues in a new session.
  context.signedIn(await openInstead(context, env), user)
  return redirectDone(context, 'security', 'password', env)
}
