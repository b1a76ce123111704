/** From a queued row to a mail that can be sent now: the recipient is looked up, limits are applied, a link is made where there is none yet. */
import type { Clock } from 'gatehouse-protocol'
import { isMailAddress, mailboxKey } from '../lib/mail-address.ts'
import { linkUrl } from '../store/accounts/set-up-links.ts'
import type { User } from '../store/accounts/user.ts'
import { MAIL_KINDS } from '../store/mail/kinds.ts'
import type { QueuedMail } from '../store/mail/mail-queue.ts'
import type { MailStores } from '../store/mail/notify.ts'
import type { Payload, PayloadSealing } from './payload.ts'
import { mailAddress, verifiedAddress } from './queueing.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
/** Mails to one mailbox: those that anybody can cause, and the others, each. */
const PER_MAILBOX = [
  { withinMs: HOUR, most: 5 },
  { withinMs: 24 * HOUR, most: 20 },
] as const

/** Users with one address who are considered. Anybody can claim an address; only one who has confirmed it is meant. */
const MOST_CLAIMANTS = 100

export type Prepared =
  | { readonly outcome: 'ready'; readonly ready: Ready }
  /** Nothing is to be sent. The reason is for operators. */
  | { readonly outcome: 'dropped'; readonly reason: string }
  | { readonly outcome: 'throttled'; readonly reason: string }
  /** All nodes together have sent as many as they may. */
  | { readonly outcome: 'paced' }
  /** Another node has it, or it was removed. */
  | { readonly outcome: 'lost' }

export interface Ready {
  readonly to: string
  readonly user: User
  readonly payload: Payload
  readonly link: string | undefined
}

/** Issues a link with which a user who has forgotten the password chooses another one, in the transaction. Returns its token. */
export type IssueLink = (user: User, to: string, lifetimeMs: number) => Promise<string>

export interface PrepareEnv {
  readonly issuer: string
  readonly clock: Clock
  readonly sealing: PayloadSealing
  readonly rate: () => number
}

/** In a transaction: what it makes and counts is there if the attempt is. */
export async function prepare(
  mail: QueuedMail,
  node: string,
  { stores, issueLink }: { readonly stores: MailStores; readonly issueLink: IssueLink },
  env: PrepareEnv,
): Promise<Prepared> {
  const { mailQueue } = stores
  await mailQueue.lock()
  if (mail.sealed === undefined) return { outcome: 'lost' }
  const payload = env.sealing.open(mail.id, mail.sealed)
  if (payload === undefined) return { outcome: 'dropped', reason: 'it was sealed with another master key' }
  const addressee = await findAddressee(mail, payload, stores)
  if ('reason' in addressee) return { outcome: 'dropped', reason: addressee.reason }
  const now = env.clock()
  if ((await mailQueue.countTried(now - MINUTE, { except: mail.id })) >= env.rate()) return { outcome: 'paced' }
  const mailbox = `${mailboxClass(mail)} ${mailboxKey(addressee.to)}`
  // How many of alerts a mailbox gets is decided before they are queued.
  if (mail.attempts === 0 && mail.kind !== 'alert')
    for (const { withinMs, most } of PER_MAILBOX)
      if ((await mailQueue.countTried(now - withinMs, { mailbox, except: mail.id })) >= most)
        return { outcome: 'throttled', reason: `the mailbox has got ${most} mails within ${withinMs / HOUR} h` }
  const { to, user } = addressee
  const withLink = await makeLink(mail, payload, addressee, issueLink, now)
  const attempt = { userId: user.id, recipient: to, mailbox, sealed: env.sealing.seal(mail.id, withLink) }
  if (!(await mailQueue.begin(mail.id, node, attempt))) return { outcome: 'lost' }
  return { outcome: 'ready', ready: { to, user, payload: withLink, link: mailLink(mail, withLink, env.issuer) } }
}

function mailboxClass({ kind }: QueuedMail): string {
  if (kind === 'alert') return kind
  return MAIL_KINDS[kind].anyone ? 'anyone' : 'own'
}

interface Addressee {
  readonly to: string
  readonly user: User
}

type Found = Addressee | { readonly reason: string }

async function findAddressee(mail: QueuedMail, payload: Payload, stores: MailStores): Promise<Found> {
  if (mail.kind === 'forgot-password' && payload.token === undefined) return lookUp(payload.typed ?? '', stores)
  const user = mail.userId === undefined ? undefined : await stores.users.findById(mail.userId)
  if (user === undefined) return { reason: 'the user was deleted' }
  const to = mail.recipient ?? verifiedAddress(user)
  if (to === undefined || !isMailAddress(to)) return { reason: 'the user has no verified address' }
  const reason = await reasonAgainst(mail, payload, to, user, stores)
  return reason === undefined ? { to, user } : { reason }
}

/** A username, or an address that one user has confirmed. */
async function lookUp(typed: string, { users }: MailStores): Promise<Found> {
  const byName = await users.findByUsername(typed)
  const candidates = byName === undefined ? await users.findByEmail(typed.trim(), MOST_CLAIMANTS) : [byName]
  const [user, ...others] = candidates.filter((found) => verifiedAddress(found) !== undefined)
  if (user === undefined || others.length > 0) return { reason: 'no user with a verified address is meant' }
  if (user.disabled) return { reason: 'the user is disabled' }
  if (user.passwordHash === undefined) return { reason: 'the user has no password' }
  return { user, to: verifiedAddress(user) ?? '' }
}

/** A mail whose link is void is not sent any more. */
async function reasonAgainst(
  { kind }: QueuedMail,
  { token }: Payload,
  to: string,
  user: User,
  { setUpLinks, addressLinks }: MailStores,
): Promise<string | undefined> {
  const { link: hasLink } = MAIL_KINDS[kind]
  // What alerts of theirs have found is not sent any more either.
  if (user.disabled && (hasLink || kind === 'alert')) return 'the user is disabled'
  if (!hasLink) return undefined
  if (kind === 'verification')
    return (await addressLinks.find(token ?? '')) === undefined ? 'the link is void' : undefined
  const link = await setUpLinks.find(token ?? '')
  return link?.state === 'open' && mailAddress(user) === to ? undefined : 'the link is void'
}

/** The link of a forgotten password is made when its user has been found. It voids earlier ones. */
async function makeLink(
  mail: QueuedMail,
  payload: Payload,
  { user, to }: Addressee,
  issueLink: IssueLink,
  now: number,
): Promise<Payload> {
  if (mail.kind !== 'forgot-password' || payload.token !== undefined) return payload
  return { token: await issueLink(user, to, mail.expiresAt - now) }
}

/** Where the link of a verification leads. */
export function verificationUrl(issuer: string, token: string): string {
  return `${issuer}/verify-email?token=${token}`
}

function mailLink({ kind }: QueuedMail, { token }: Payload, issuer: string): string | undefined {
  if (token === undefined) return undefined
  return kind === 'verification' ? verificationUrl(issuer, token) : linkUrl(issuer, token)
}
