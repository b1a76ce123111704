/** The account page and everything that can be changed and ended on it. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { formParameters, type Parameters, queryParameters } from '../../http/form.ts'
import { listApplications } from '../../store/applications.ts'
import { LONGEST_PASSWORD, SHORTEST_PASSWORD } from '../../store/password-hash.ts'
import type { Profile, User } from '../../store/users.ts'
import { displayNameOf } from '../claims.ts'
import { accountPage, PROFILE_FIELDS, type ProfileField, passwordPage } from '../pages/account.ts'
import type { Mistake } from '../pages/form-parts.ts'
import type { Messages } from '../pages/messages/en.ts'
import { describeBrowser } from './browser-name.ts'
import { signOut } from './end-session.ts'
import type { BrowserEnv } from './env.ts'
import { frameFor, sendPage } from './page-reply.ts'
import { isLedAway } from './proceed.ts'
import { endSession, endSessionsOf } from './session-end.ts'
import { isSignedIn, openVisit, type SignedInVisit } from './visit.ts'

export function registerAccount(app: FastifyInstance, env: BrowserEnv): void {
  app.get('/account', async (request, reply) => {
    const visit = await openVisit(request, reply, env)
    if ((await isLedAway(visit, { name: 'account' }, {}, env)) || !isSignedIn(visit)) return reply
    return showAccount(visit, env, { notice: NOTICES[queryParameters(request).get('done') ?? ''] })
  })
  app.get('/account/password', async (request, reply) => {
    const visit = await openVisit(request, reply, env)
    if ((await isLedAway(visit, { name: 'password' }, {}, env)) || !isSignedIn(visit)) return reply
    return showPassword(visit, env)
  })
  const actions: Readonly<Record<string, Action>> = {
    '/account/profile': saveProfile,
    '/account/password': changePassword,
    '/account/sessions/end': endSessions,
    '/account/consents/withdraw': withdrawConsent,
    '/account/sign-out': (visit) => signOut(visit, { clientId: undefined, next: undefined, uiLocales: undefined }, env),
  }
  for (const [path, action] of Object.entries(actions)) {
    app.post(path, (request, reply) => act(request, reply, env, action))
  }
}

export type Action = (visit: SignedInVisit, form: Parameters, env: BrowserEnv) => Promise<FastifyReply>

/** The token of the form is bound to the session: whoever is signed in now is who saw the page. */
export async function act(
  request: FastifyRequest,
  reply: FastifyReply,
  env: BrowserEnv,
  action: Action,
): Promise<FastifyReply> {
  const visit = await openVisit(request, reply, env)
  const form = formParameters(request)
  visit.checkForm(form, 'session')
  if ((await isLedAway(visit, { name: 'account' }, {}, env)) || !isSignedIn(visit)) return reply
  return action(visit, form, env)
}

/** What the page may say after a redirect; the address carries the word, never the sentence. */
const NOTICES: Readonly<Record<string, (text: Messages) => string>> = {
  saved: (text) => text.saved,
  password: (text) => text.passwordChanged,
}

export async function showAccount(
  visit: SignedInVisit,
  env: BrowserEnv,
  { notice, told }: { notice?: ((text: Messages) => string) | undefined; told?: (text: Messages) => Mistake } = {},
): Promise<FastifyReply> {
  const { user, session } = visit
  const [factors, sessions, applications] = await Promise.all([
    env.factors.listOfUser(user.id),
    env.sessions.listOfUser(user.id),
    namedApplications(user.id, env),
  ])
  const frame = frameFor(env.pages, visit, { boundTo: 'session' })
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
    mistake: told?.(frame.language.messages),
  })
  return sendPage(visit.reply, page, { status: told === undefined ? 200 : 400 })
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

async function saveProfile(visit: SignedInVisit, form: Parameters, env: BrowserEnv): Promise<FastifyReply> {
  const { user } = visit
  const profile: Record<string, unknown> = { ...user.profile }
  for (const name of Object.keys(PROFILE_FIELDS)) {
    const value = form.get(name)?.trim().slice(0, 200)
    if (value === undefined || value === '') delete profile[name]
    else profile[name] = value
  }
  if (typeof profile.website === 'string' && !/^https?:\/\//i.test(profile.website))
    return showAccount(visit, env, { told: (text) => ({ text: text.badWebsite, field: 'website' }) })
  // A new address has not been verified by anybody.
  if (profile.email !== user.profile.email) profile.email_verified = false
  if (profile.email === undefined) delete profile.email_verified
  await env.users.update(user.id, { profile: profile satisfies Profile })
  await env.publish({ kind: 'user-changed', subject: user.id })
  env.audit.record({ event: 'user.changed', actor: user.id, target: user.id, details: { changed: ['profile'] } })
  return done(visit, 'saved', env)
}

/** When too many passwords are being hashed already. */
const BUSY_SECONDS = 5

function showPassword(
  visit: SignedInVisit,
  env: BrowserEnv,
  told?: (text: Messages) => Mistake,
  status = 400,
): FastifyReply {
  const frame = frameFor(env.pages, visit, { boundTo: 'session' })
  const mistake = told?.(frame.language.messages)
  const page = passwordPage(frame, { username: visit.user.username, leastPassword: SHORTEST_PASSWORD, mistake })
  return sendPage(visit.reply, page, { status: mistake === undefined ? 200 : status })
}

/** C-67: whoever knew the old password is out, everywhere, at once. */
async function changePassword(visit: SignedInVisit, form: Parameters, env: BrowserEnv): Promise<FastifyReply> {
  const { user, request } = visit
  const password = form.get('new_password') ?? ''
  if (password.length > LONGEST_PASSWORD)
    return showPassword(visit, env, (text) => ({ text: text.passwordTooLong, field: 'new_password' }))
  if (password.length < SHORTEST_PASSWORD)
    return showPassword(visit, env, (text) => ({
      text: text.passwordTooShort(SHORTEST_PASSWORD),
      field: 'new_password',
    }))
  const verdict = await env.checkPassword({
    username: user.username,
    password: form.get('current_password') ?? '',
    address: request.ip,
    requestId: request.id,
  })
  if (verdict.outcome === 'delayed')
    return showPassword(visit, env, (text) => ({ text: text.tryLater(verdict.seconds) }))
  if (verdict.outcome === 'wrong')
    return showPassword(visit, env, (text) => ({ text: text.wrongPassword, field: 'current_password' }))
  const passwordHash = verdict.outcome === 'busy' ? undefined : await env.hashing.hash(password)
  if (passwordHash === undefined)
    return showPassword(visit, env, (text) => ({ text: text.tryLater(BUSY_SECONDS) }), 503)
  await env.users.setPassword(user.id, passwordHash)
  await endSessionsOf(user.id, 'password changed', env)
  await env.takeBack.user(user.id)
  env.audit.record({ event: 'password.changed', actor: user.id, address: request.ip, requestId: request.id })
  // Who changed it has just proven to know it, and goes on in a session of their own.
  visit.signedIn(await env.sessions.open(user.id, visit.proof(visit.session.amr)), user)
  return done(visit, 'password', env)
}

async function endSessions(visit: SignedInVisit, form: Parameters, env: BrowserEnv): Promise<FastifyReply> {
  const which = form.get('session')
  if (which === 'others')
    await endSessionsOf(visit.user.id, 'ended by its user', env, ({ id }) => id !== visit.session.id)
  else {
    const own = (await env.sessions.listOfUser(visit.user.id)).find(({ id }) => id === which)
    if (own !== undefined) await endSession(own.id, 'ended by its user', env)
  }
  return done(visit, 'saved', env)
}

async function withdrawConsent(visit: SignedInVisit, form: Parameters, env: BrowserEnv): Promise<FastifyReply> {
  const { user, request } = visit
  const clientId = form.get('client_id') ?? ''
  const application = (await listApplications(env, user.id)).find((candidate) => candidate.clientId === clientId)
  if (application !== undefined) {
    await env.consents.withdraw(user.id, clientId)
    await env.takeBack.consent(user.id, clientId)
    env.audit.record({
      event: 'consent.withdrawn',
      actor: user.id,
      client: clientId,
      address: request.ip,
      requestId: request.id,
      details: { scope: application.scopes },
    })
  }
  return done(visit, 'saved', env)
}

export function done(visit: SignedInVisit, word: 'saved' | 'password', env: BrowserEnv): FastifyReply {
  return visit.reply.redirect(`${env.pages.base}/account?done=${word}`, 303)
}
