/** The account page and its actions. */
import type { Parameters } from '../../http/form.ts'
import type { Route } from '../../http/route.ts'
import { listApplications } from '../../store/applications.ts'
import { LONGEST_PASSWORD, SHORTEST_PASSWORD } from '../../store/password-hash.ts'
import type { Profile, User } from '../../store/users.ts'
import { BUSY_SECONDS } from '../attempts.ts'
import { accountPage, PROFILE_FIELDS, type ProfileField, passwordPage } from '../pages/account.ts'
import type { FormError } from '../pages/form-parts.ts'
import type { Messages } from '../pages/messages/en.ts'
import { displayNameOf } from '../tokens/claims.ts'
import { type BrowserContext, formRoute, isSignedIn, pageRoute, type SignedInBrowser } from './browser-context.ts'
import { describeBrowser } from './browser-name.ts'
import { signOut } from './end-session.ts'
import type { BrowserEnv } from './env.ts'
import { type OwnNeeds, type OwnPage, pathOf } from './flow.ts'
import { frameFor, sendPage } from './page-reply.ts'
import { redirectedFirst } from './proceed.ts'
import { type EndedSession, endInside, endSession, endSessionsOf, recordEnd } from './session-end.ts'

export function accountRoutes(env: BrowserEnv): readonly Route[] {
  return [
    ownPageRoute(
      { name: 'account' },
      async (context, query) => showAccount(context, env, { notice: NOTICES.get(query.get('done') ?? '') }),
      env,
    ),
    ownPageRoute({ name: 'password' }, async (context) => showPassword(context, env), env),
    accountFormRoute('/account/profile', saveProfile, env),
    accountFormRoute('/account/password', changePassword, env),
    accountFormRoute('/account/sessions/end', endSessions, env),
    accountFormRoute('/account/consents/withdraw', withdrawConsent, env),
    accountFormRoute(
      '/account/sign-out',
      (context) => signOut(context, { clientId: undefined, next: undefined, uiLocales: undefined }, env),
      env,
    ),
  ]
}

export type AccountAction = (context: SignedInBrowser, parameters: Parameters, env: BrowserEnv) => Promise<void>

/** One of our own pages. A browser that lacks a session, or anything else the page requires, is redirected first. */
export function ownPageRoute(
  page: Exclude<OwnPage, { name: 'device' }>,
  show: AccountAction,
  env: BrowserEnv,
  needsOf: (context: BrowserContext, env: BrowserEnv) => OwnNeeds = () => ({}),
): Route {
  const act = async (context: BrowserContext, query: Parameters): Promise<void> => {
    if (await redirectedFirst(context, page, needsOf(context, env), env)) return
    if (isSignedIn(context)) await show(context, query, env)
  }
  return pageRoute(pathOf(page), act, env)
}

/** The anti-forgery token is bound to the session: the person who is signed in now is the one who saw the page. */
export function accountFormRoute(path: string, action: AccountAction, env: BrowserEnv): Route {
  const act = async (context: BrowserContext, form: Parameters): Promise<void> => {
    if (await redirectedFirst(context, { name: 'account' }, {}, env)) return
    if (isSignedIn(context)) await action(context, form, env)
  }
  return formRoute(path, 'session', act, env)
}

/** Messages after a redirect; the query string names one, and never contains the text. */
const NOTICES: ReadonlyMap<string, (text: Messages) => string> = new Map([
  ['saved', (text: Messages) => text.saved],
  ['password', (text: Messages) => text.passwordChanged],
])

export async function showAccount(
  context: SignedInBrowser,
  env: BrowserEnv,
  { notice, told }: { notice?: ((text: Messages) => string) | undefined; told?: (text: Messages) => FormError } = {},
): Promise<void> {
  const { user, session } = context
  const [factors, sessions, applications] = await Promise.all([
    env.factors.listOfUser(user.id),
    env.sessions.listOfUser(user.id),
    namedApplications(user.id, env),
  ])
  const frame = frameFor(env.pages, context, { boundTo: 'session' })
  const page = accountPage(frame, {
    username: displayNameOf(user),
    profile: profileOf(user),
    factors: factors.flatMap(({ id, kind, label, createdAt }) =>
      kind === 'recovery'
        ? []
        : [{ id, label, addedAt: createdAt, kind: kind === 'passkey' ? 'passkey' : 'authenticator' }],
    ),
    recoveryCodesLeft: factors.filter(({ kind }) => kind === 'recovery').length,
    sessions: sessions.map(({ id, userAgent, address, seenAt }) => ({
      id,
      address,
      seenAt,
      browser: describeBrowser(userAgent),
      current: id === session.id,
    })),
    consents: applications,
    timeZone: profileOf(user).zoneinfo || undefined,
    notice: notice?.(frame.language.messages),
    formError: told?.(frame.language.messages),
  })
  return sendPage(context.http, page, { status: told === undefined ? 200 : 400 })
}

async function namedApplications(userId: string, env: BrowserEnv) {
  const applications = await listApplications(env, userId)
  return Promise.all(
    applications.map(async ({ clientId, scopes }) => {
      const client = await env.clients.find(clientId)
      return { clientId, scopes, client: client?.name ?? clientId }
    }),
  )
}

function profileOf({ profile }: User): Record<ProfileField, string> {
  const text = (name: ProfileField) => (typeof profile[name] === 'string' ? profile[name] : '')
  return {
    name: text('name'),
    given_name: text('given_name'),
    family_name: text('family_name'),
    nickname: text('nickname'),
    email: text('email'),
    website: text('website'),
    locale: text('locale'),
    zoneinfo: text('zoneinfo'),
  }
}

async function saveProfile(context: SignedInBrowser, form: Parameters, env: BrowserEnv): Promise<void> {
  const { user } = context
  const members = new Map(Object.entries(user.profile))
  for (const name of Object.keys(PROFILE_FIELDS)) {
    const value = form.get(name)?.trim().slice(0, 200)
    if (value === undefined || value === '') members.delete(name)
    else members.set(name, value)
  }
  const profile = Object.fromEntries(members)
  if (typeof profile.website === 'string' && !/^https?:\/\//i.test(profile.website))
    return showAccount(context, env, { told: (text) => ({ text: text.badWebsite, field: 'website' }) })
  // A new address is not verified.
  if (profile.email !== user.profile.email) profile.email_verified = false
  if (profile.email === undefined) delete profile.email_verified
  await env.users.update(user.id, { profile: profile satisfies Profile })
  await env.publish({ kind: 'user-changed', subject: user.id })
  env.audit.record({ event: 'user.changed', actor: user.id, target: user.id, details: { changed: ['profile'] } })
  return done(context, 'saved', env)
}

function showPassword(
  context: SignedInBrowser,
  env: BrowserEnv,
  told?: (text: Messages) => FormError,
  status = 400,
): void {
  const frame = frameFor(env.pages, context, { boundTo: 'session' })
  const formError = told?.(frame.language.messages)
  const page = passwordPage(frame, { username: context.user.username, leastPassword: SHORTEST_PASSWORD, formError })
  sendPage(context.http, page, { status: formError === undefined ? 200 : status })
}

/** C-67: ends all sessions and tokens of the user at once. */
async function changePassword(context: SignedInBrowser, form: Parameters, env: BrowserEnv): Promise<void> {
  const { user, http } = context
  const password = form.get('new_password') ?? ''
  if (password.length > LONGEST_PASSWORD)
    return showPassword(context, env, (text) => ({ text: text.passwordTooLong, field: 'new_password' }))
  if (password.length < SHORTEST_PASSWORD)
    return showPassword(context, env, (text) => ({
      text: text.passwordTooShort(SHORTEST_PASSWORD),
      field: 'new_password',
    }))
  const verdict = await env.checkPassword({
    username: user.username,
    password: form.get('current_password') ?? '',
    address: http.address,
    requestId: http.id,
  })
  if (verdict.outcome === 'delayed') {
    http.setHeader('retry-after', String(verdict.seconds))
    return showPassword(context, env, (text) => ({ text: text.tryLater(verdict.seconds) }), 429)
  }
  if (verdict.outcome === 'wrong')
    return showPassword(context, env, (text) => ({ text: text.wrongPassword, field: 'current_password' }))
  const passwordHash = verdict.outcome === 'busy' ? undefined : await env.hashing.hash(password)
  if (passwordHash === undefined) {
    http.setHeader('retry-after', String(BUSY_SECONDS))
    return showPassword(context, env, (text) => ({ text: text.tryLater(BUSY_SECONDS) }), 503)
  }
  const open = await env.sessions.listOfUser(user.id)
  const ended = await env.revocations.inTransaction(async (revocations, stores) => {
    await stores.users.setPassword(user.id, passwordHash)
    const all: EndedSession[] = []
    for (const { id } of open) {
      const each = await endInside(id, revocations, stores)
      if (each !== undefined) all.push(each)
    }
    await revocations.revokeUser(user.id)
    return all
  })
  for (const each of ended) recordEnd(each, 'password changed', env)
  env.audit.record({ event: 'password.changed', actor: user.id, address: http.address, requestId: http.id })
  // The person has just proven the old password, and continues in a new session.
  context.signedIn(await env.sessions.open(user.id, context.proof(context.session.amr)), user)
  return done(context, 'password', env)
}

async function endSessions(context: SignedInBrowser, form: Parameters, env: BrowserEnv): Promise<void> {
  const which = form.get('session')
  if (which === 'others')
    await endSessionsOf(context.user.id, 'ended by its user', env, ({ id }) => id !== context.session.id)
  else {
    const own = (await env.sessions.listOfUser(context.user.id)).find(({ id }) => id === which)
    if (own !== undefined) await endSession(own.id, 'ended by its user', env)
  }
  return done(context, 'saved', env)
}

async function withdrawConsent(context: SignedInBrowser, form: Parameters, env: BrowserEnv): Promise<void> {
  const { user, http } = context
  const clientId = form.get('client_id') ?? ''
  const application = (await listApplications(env, user.id)).find((candidate) => candidate.clientId === clientId)
  if (application !== undefined) {
    await env.revocations.inTransaction(async (revocations, stores) => {
      await stores.consents.withdraw(user.id, clientId)
      await revocations.revokeConsent(user.id, clientId)
    })
    env.audit.record({
      event: 'consent.withdrawn',
      actor: user.id,
      client: clientId,
      address: http.address,
      requestId: http.id,
      details: { scope: application.scopes },
    })
  }
  return done(context, 'saved', env)
}

export function done(context: SignedInBrowser, word: 'saved' | 'password', env: BrowserEnv): void {
  context.http.redirect(`${env.pages.base}/account?done=${word}`)
}
