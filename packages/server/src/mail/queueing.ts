/** Queues mails in the transaction that causes them: links, verifications, notices, and requests for a new password. */
import type { Clock } from 'gatehouse-protocol'
import { isMailAddress } from '../lib/mail-address.ts'
import { addressNetwork } from '../lib/network.ts'
import type { User } from '../store/accounts/user.ts'
import { newId } from '../store/keys/opaque.ts'
import type { NewMail } from '../store/mail/mail-queue.ts'
import type { MailPort, MailStores, Notice } from '../store/mail/notify.ts'
import { type Payload, payloadSealing } from './payload.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR
export const FORGOTTEN_MS = 30 * MINUTE
export const VERIFICATION_MS = DAY
/** How long delivery is tried where the link does not expire earlier. */
const NOTICE_MS = DAY
/** What one client address may ask for in an hour. */
const ASKED_PER_HOUR = 20
const LONGEST_TYPED = 254

export interface QueueingOptions {
  readonly sealingKey: Buffer
  readonly clock: Clock
  readonly rate: () => number
}

export function createMailPort({ sealingKey, clock, rate }: QueueingOptions): MailPort {
  const sealing = payloadSealing(sealingKey)
  const add = ({ mailQueue }: MailStores, mail: Omit<NewMail, 'id' | 'sealed'>, payload: Payload) => {
    const id = newId()
    return mailQueue.add({ ...mail, id, sealed: sealing.seal(id, payload) })
  }

  /** Whether the network, and all together, may still ask for mails: beyond that nothing is queued, and the page says the same. */
  const mayAsk = async ({ mailQueue }: MailStores, origin: string): Promise<boolean> => {
    await mailQueue.lock()
    const now = clock()
    const [ofNetwork, ofAll] = [
      await mailQueue.countAsked(now - HOUR, origin),
      await mailQueue.countAsked(now - MINUTE),
    ]
    return ofNetwork < ASKED_PER_HOUR && ofAll < rate()
  }

  return {
    async notify(stores, notice) {
      const { kind, subject, address, userAgent, endsAt } = notice
      const expiresAt = clock() + NOTICE_MS
      for (const { userId, to } of await findRecipients(stores, notice))
        await add(
          stores,
          { kind, userId, recipient: to, language: '', expiresAt },
          {
            ...{ subject, address, userAgent, endsAt },
          },
        )
    },

    async alert(stores, { id, userId, to, title, text, url }) {
      const expiresAt = clock() + NOTICE_MS
      const payload = { subject: title, text, url }
      const mail = { id, kind: 'alert', userId, recipient: to, language: '', expiresAt } as const
      return stores.mailQueue.addOnce({ ...mail, sealed: sealing.seal(id, payload) })
    },

    async sendLink(stores, { kind, userId, to, token, expiresAt }) {
      const mail = { kind, userId, recipient: to, language: '', expiresAt: soonest(expiresAt) }
      await add(stores, mail, { token, linkExpiresAt: expiresAt })
    },

    async forgotPassword(stores, { typed, address, language }) {
      const origin = addressNetwork(address)
      if (!(await mayAsk(stores, origin))) return
      const mail = { kind: 'forgot-password', origin, language, expiresAt: clock() + FORGOTTEN_MS } as const
      await add(stores, mail, { typed: typed.slice(0, LONGEST_TYPED) })
    },

    async verifyAddress(stores, { userId, to, address, language }) {
      const origin = addressNetwork(address)
      if (!(await mayAsk(stores, origin))) return
      const user = await stores.users.findById(userId)
      if (user === undefined) return
      const expiresAt = clock() + VERIFICATION_MS
      const token = await stores.addressLinks.create({ userId, address: to, replaces: mailAddress(user), expiresAt })
      await add(stores, { kind: 'verification', userId, recipient: to, origin, language, expiresAt }, { token })
    },
  }

  /** Delivery is tried for a day, or as long as the link is valid. */
  function soonest(expiresAt: number): number {
    return Math.min(expiresAt, clock() + DAY)
  }
}

/** Whom a notice goes to. The address is looked up when it is sent, unless it is no longer that of the user. */
async function findRecipients(
  { users, roles }: MailStores,
  { kind, userId, to }: Notice,
): Promise<{ userId: string; to?: string | undefined }[]> {
  if (kind !== 'break-glass') {
    if (to !== undefined) return isMailAddress(to) ? [{ userId, to }] : []
    const user = await users.findById(userId)
    return user !== undefined && verifiedAddress(user) !== undefined ? [{ userId }] : []
  }
  const found = new Map<string, User>()
  for (const { name, scopes } of await roles.list())
    if (scopes.includes('Identity/Admin'))
      for (const user of await users.listWith(name, { after: '', limit: MOST_ADMINISTRATORS })) found.set(user.id, user)
  const reachable = [...found.values()].filter((user) => !user.disabled && verifiedAddress(user) !== undefined)
  return reachable.map(({ id }) => ({ userId: id }))
}

const MOST_ADMINISTRATORS = 100

export function mailAddress({ profile }: Pick<User, 'profile'>): string | undefined {
  return typeof profile.email === 'string' && profile.email !== '' ? profile.email : undefined
}

/** The address that notices and links for forgotten passwords go to. */
export function verifiedAddress(user: Pick<User, 'profile'>): string | undefined {
  const address = mailAddress(user)
  return address !== undefined && user.profile.email_verified === true && isMailAddress(address) ? address : undefined
}
