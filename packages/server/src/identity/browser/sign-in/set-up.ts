/** One-time links: an invited person, or one who forgot the password, chooses a password; the first administrator is created. */

import { readUsername } from '../../../accounts/usernames.ts'
import type { FormParameters } from '../../../http/request/body.ts'
import type { Route } from '../../../http/route.ts'
import { hasAdministrator } from '../../../store/accounts/administrators.ts'
import { SHORTEST_PASSWORD } from '../../../store/accounts/password-hash.ts'
import type { SetUpLink } from '../../../store/accounts/set-up-links.ts'
import type { User } from '../../../store/accounts/user.ts'
import { UsernameTaken } from '../../../store/accounts/users.ts'
import { firstAdministratorPage, type SetUpData, setUpPage, unusableLinkPage } from '../../pages/new-password.ts'
import { chooseDisplayName } from '../../tokens/claims.ts'
import { personAsAuthor } from '../account-author.ts'
import { type BrowserContext, formRoute, pageRoute } from '../browser-context.ts'
import type { BrowserEnv } from '../env.ts'
import { beginFlow, expired } from '../flow.ts'
import { type FormReply, frameFor, sendPage } from '../page-reply.ts'
import { meetBrowser } from './known-browser.ts'
import { hashNew } from './new-password.ts'
import { passFirstFactor } from './sign-in.ts'

/** Opening a link does not use it: programs that preview links open them too. */
export function setUpRoutes(env: BrowserEnv): readonly Route[] {
  return [pageRoute('/set-up', openLink, env), formRoute('/set-up', 'browser', takeLink, env)]
}

interface OpenLink {
  readonly token: string
  /** Undefined for the first administrator. */
  readonly user: User | undefined
  readonly link: SetUpLink
}

async function openLink(context: BrowserContext, query: FormParameters, env: BrowserEnv): Promise<void> {
  const open = await findOpen(context, query.get('token'), env)
  return open === undefined ? showUnusable(context, env) : showLink(context, open, env)
}

async function takeLink(context: BrowserContext, form: FormParameters, env: BrowserEnv): Promise<void> {
  const open = await findOpen(context, form.get('token'), env)
  if (open === undefined) return showUnusable(context, env)
  if (open.user !== undefined && !env.providers.maySignInLocally(open.user)) return showLink(context, open, env)
  const username = open.user === undefined ? readUsername(form.get('username')) : ''
  if (username === undefined)
    return showLink(context, open, env, {
      username: form.get('username'),
      status: 400,
      error: (text) => ({ text: text.badUsername, field: 'username' }),
    })
  const hashed = await hashNew(context, form.get('new_password'), undefined, env)
  if ('error' in hashed) return showLink(context, open, env, { ...hashed, username })
  const { user } = open
  if (user === undefined) return createAdministrator(context, open, { username, hash: hashed.hash }, env)
  const author = personAsAuthor(context, { source: 'set-up link', actor: user.id })
  const isChosen = await env.accounts.change(author, async (accounts, stores) => {
    const link = await accounts.spendLink(open.token)
    const current = link && (await stores.users.findById(user.id))
    if (link === undefined || current === undefined || isForOtherAddress(link, current)) return false
    const { kind, mailedTo } = link
    // A user with a mailed link can read the mail of its address.
    if (mailedTo !== undefined) await accounts.verifyAddress(user.id, mailedTo, kind)
    return accounts.setPassword(user.id, hashed.hash, { reason: kind, isFirst: kind !== 'reset' })
  })
  if (!isChosen) return showUnusable(context, env)
  await meetBrowser(context, user, env, { isTold: true })
  return signInWithPassword(context, user.id, env)
}

/** A mailed link is void once the user has another address. */
function isForOtherAddress({ mailedTo }: SetUpLink, user: User | undefined): boolean {
  return mailedTo !== undefined && user?.profile.email !== mailedTo
}

/** The link if it can be used; every other one gets the same reply. */
async function findOpen(
  context: BrowserContext,
  token: string | undefined,
  env: BrowserEnv,
): Promise<OpenLink | undefined> {
  const link = token === undefined ? undefined : await env.setUpLinks.find(token)
  if (token === undefined || link === undefined) return undefined
  const user = link.userId === undefined ? undefined : await env.users.findById(link.userId)
  const reason = await reasonAgainst(link, user, env)
  if (reason === undefined) return { token, user, link }
  recordRefusal(context, link, reason, env)
  return undefined
}

async function reasonAgainst(link: SetUpLink, user: User | undefined, env: BrowserEnv): Promise<string | undefined> {
  if (link.state !== 'open') return link.state
  if (link.kind === 'administrator') return (await hasAdministrator(env)) ? 'there is an administrator' : undefined
  if (user === undefined || user.disabled) return 'disabled'
  return isForOtherAddress(link, user) ? 'address changed' : undefined
}

function showLink(
  context: BrowserContext,
  { token, user, link }: OpenLink,
  env: BrowserEnv,
  again?: FormReply & { readonly username?: string | undefined },
): void {
  const frame = frameFor(env.pages, context, { boundTo: 'browser' })
  const shared = { token, leastPassword: SHORTEST_PASSWORD, formError: again?.error(frame.language.messages) }
  const page =
    user === undefined
      ? firstAdministratorPage(frame, { ...shared, username: again?.username ?? '' })
      : setUpPage(frame, {
          ...shared,
          purpose: link.kind === 'reset' ? 'reset' : 'invitation',
          username: user.username,
          displayName: chooseDisplayName(user),
          hasPassword: env.providers.maySignInLocally(user),
          providers: link.kind === 'invitation' ? invitingProviders(env) : [],
        })
  sendPage(context.http, page, { status: again?.status ?? 200, scripts: "'self'" })
}

/** Providers with which an invited person can begin. */
function invitingProviders({ providers }: BrowserEnv): SetUpData['providers'] {
  return providers.list().filter(({ provision }) => provision !== 'never')
}

function showUnusable(context: BrowserContext, env: BrowserEnv): void {
  sendPage(context.http, unusableLinkPage(frameFor(env.pages, context)), { status: 410 })
}

async function createAdministrator(
  context: BrowserContext,
  open: OpenLink,
  { username, hash }: { readonly username: string; readonly hash: string },
  env: BrowserEnv,
): Promise<void> {
  const author = personAsAuthor(context, { source: 'set-up link', actor: undefined })
  const created = await env.accounts
    .change(author, (accounts) => accounts.createAdministrator(open.token, { username, passwordHash: hash }))
    .catch((error: unknown) => {
      // The link stays unused: everything is one transaction.
      if (error instanceof UsernameTaken) return 'taken' as const
      throw error
    })
  if (created === undefined) return showUnusable(context, env)
  if (created === 'taken')
    return showLink(context, open, env, {
      username,
      status: 400,
      error: (text) => ({ text: text.usernameTaken, field: 'username' }),
    })
  return signInWithPassword(context, created, env)
}

/** As if the password had been entered on the sign-in page: a second factor is asked for, or set up where it is required. */
async function signInWithPassword(context: BrowserContext, userId: string, env: BrowserEnv): Promise<void> {
  const user = await env.users.findById(userId)
  if (user === undefined || user.disabled) throw expired()
  // Only users with rights in the console are sent there.
  const page = { name: env.pages.places.includes('console') && user.rights.size > 0 ? 'console' : 'account' } as const
  const flow = await beginFlow({ kind: 'own', page, progress: {} }, context, env.flows)
  return passFirstFactor(context, flow, user, ['pwd'], env)
}

function recordRefusal(
  { http }: BrowserContext,
  { id, kind, userId: target }: SetUpLink,
  reason: string,
  { audit }: Pick<BrowserEnv, 'audit'>,
): void {
  const facts = { target, address: http.address, requestId: http.id }
  audit.record({ event: 'link.refused', ...facts, details: { link: id, kind, reason } })
}
