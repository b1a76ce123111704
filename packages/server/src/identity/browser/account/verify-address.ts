/** E-mail addresses where mail is set up: one that a person enters counts once a link mailed to it has been used. */
import type { FormParameters } from '../../../http/request/body.ts'
import type { Route } from '../../../http/route.ts'
import { isMailAddress } from '../../../lib/mail-address.ts'
import type { User } from '../../../store/accounts/user.ts'
import type { AddressLink } from '../../../store/mail/address-links.ts'
import type { MailPort, MailStores } from '../../../store/mail/notify.ts'
import { addressConfirmedPage, addressUnusablePage, confirmAddressPage } from '../../pages/mail.ts'
import { personAsAuthor } from '../account-author.ts'
import { type BrowserContext, formRoute, pageRoute, type SignedInBrowser } from '../browser-context.ts'
import type { BrowserEnv } from '../env.ts'
import { frameFor, sendPage } from '../page-reply.ts'
import { accountFormRoute, redirectDone } from './account.ts'

/** Opening a link does not use it: programs that preview links open them too. */
export function verifyAddressRoutes(env: BrowserEnv, mail: MailPort): readonly Route[] {
  return [
    pageRoute('/verify-email', openLink, env),
    formRoute('/verify-email', 'browser', (context, form) => takeLink(context, form, env), env),
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

async function takeLink(context: BrowserContext, form: FormParameters, env: BrowserEnv): Promise<void> {
  const token = form.get('token') ?? ''
  // The link names the account: it does not matter who is signed in here.
  const author = personAsAuthor(context, { actor: undefined })
  const confirmed = await env.accounts.change(author, async (accounts, stores) => {
    if ((await findUsable(token, stores)) === undefined) return undefined
    const link = await stores.addressLinks.spend(token)
    if (link !== undefined) await accounts.verifyAddress(link.userId, link.address, 'verification')
    return link?.address
  })
  if (confirmed === undefined) return showUnusable(context, env)
  sendPage(context.http, addressConfirmedPage(frameFor(env.pages, context), confirmed))
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
