/** E-mail addresses where mail is set up: one that a person enters counts once a link mailed to it has been used. */
import type { FormParameters } from '../../../http/request/body.ts'
import type { Route } from '../../../http/route.ts'
import { isMailAddress } from '../../../lib/mail-address.ts'
import type { User } from '../../../store/accounts/user.ts'
import type { AddressLink } from '../../../store/mail/address-links.ts'
import type { MailPort, MailStores } from '../../../store/mail/notify.ts'
import { addressConfirmedPage, addressUnusablePage, confirmAddressPage } from '../../pages/mail.ts'
import { type BrowserContext, formRoute, pageRoute, type SignedInBrowser } from '../browser-context.ts'
import type { BrowserEnv } from '../env.ts'
import { frameFor, sendPage } from '../page-reply.ts'
import { readOrigin } from '../sign-in/known-browser.ts'
import { accountFormRoute, redirectDone } from './account.ts'

/** Opening a link does not use it: programs that preview links open them too. */
export function verifyAddressRoutes(env: BrowserEnv, mail: MailPort): readonly Route[] {
  return [
    pageRoute('/verify-email', openLink, env),
    formRoute('/verify-email', 'browser', (context, form) => takeLink(context, form, mail, env), env),
    accountFormRoute('/account/email/verify', (context) => askAgain(context, mail, env), env),
  ]
}

/** Queues a link to a new address, in the transaction that saves the rest of the profile. */
export async function askForAddress(
  context: SignedInBrowser,
  to: string,
  mail: MailPort,
  stores: MailStores,
  env: BrowserEnv,
): Promise<void> {
  const { tag: language } = frameFor(env.pages, context).language
  await mail.verifyAddress(stores, { userId: context.user.id, to, address: context.http.address, language })
}

/** For the present address, if it is not verified. */
async function askAgain(context: SignedInBrowser, mail: MailPort, env: BrowserEnv): Promise<void> {
  const { email, email_verified: isVerified } = context.user.profile
  if (typeof email === 'string' && isMailAddress(email) && isVerified !== true)
    await env.revocations.inTransaction((_revocations, stores) => askForAddress(context, email, mail, stores, env))
  return redirectDone(context, 'profile', 'address-asked', env)
}

async function openLink(context: BrowserContext, query: FormParameters, env: BrowserEnv): Promise<void> {
  const token = query.get('token') ?? ''
  const found = await findUsable(token, env)
  if (found === undefined) return showUnusable(context, env)
  const frame = frameFor(env.pages, context, { boundTo: 'browser' })
  const { address } = found.link
  sendPage(context.http, confirmAddressPage(frame, { token, address, username: found.user.username }))
}

async function takeLink(context: BrowserContext, form: FormParameters, mail: MailPort, env: BrowserEnv): Promise<void> {
  const { http } = context
  const token = form.get('token') ?? ''
  const confirmed = await env.revocations.inTransaction(async (_revocations, stores) => {
    if ((await findUsable(token, stores)) === undefined) return undefined
    const link = await stores.addressLinks.spend(token)
    // Read again: the link acts on what is stored when it is used.
    const user = link && (await stores.users.findById(link.userId))
    if (link === undefined || user === undefined) return undefined
    const { email: before, email_verified: wasVerified } = user.profile
    await stores.users.update(user.id, { profile: { ...user.profile, email: link.address, email_verified: true } })
    if (typeof before === 'string' && before !== link.address && wasVerified === true)
      await mail.notify(stores, { kind: 'address-changed', userId: user.id, to: before, ...readOrigin(context) })
    return { userId: user.id, address: link.address }
  })
  if (confirmed === undefined) return showUnusable(context, env)
  await env.publish({ kind: 'user-changed', subject: confirmed.userId })
  const facts = { actor: confirmed.userId, address: http.address, requestId: http.id }
  env.audit.record({ event: 'address.verified', ...facts, details: { reason: 'verification' } })
  sendPage(http, addressConfirmedPage(frameFor(env.pages, context), confirmed.address))
}

/** A link is void once the address of the user is another one than when it was made. */
async function findUsable(
  token: string,
  { addressLinks, users }: Pick<BrowserEnv, 'addressLinks' | 'users'>,
): Promise<{ readonly link: AddressLink; readonly user: User } | undefined> {
  const link = await addressLinks.find(token)
  const user = link && (await users.findById(link.userId))
  if (link === undefined || user === undefined || user.disabled) return undefined
  return (user.profile.email ?? undefined) === link.replaces ? { link, user } : undefined
}

function showUnusable(context: BrowserContext, env: BrowserEnv): void {
  sendPage(context.http, addressUnusablePage(frameFor(env.pages, context)), { status: 410 })
}
