/** The browsers of a user that get notices by push: listed, added and removed by their tokens. */
import { isIP } from 'node:net'
import { calledAddressFault, type Principal, secureAddressFault } from 'gatehouse-protocol'
import { isPublicAddress } from '../../lib/public-address.ts'
import { refuse } from '../../query/index.ts'
import { closed, text } from '../../schema/builders.ts'
import { findFaults } from '../../schema/check-schema.ts'
import {
  MOST_PUSH_SUBSCRIPTIONS,
  type PushSubscription,
  type PushSubscriptions,
} from '../../store/alerts/push-subscriptions.ts'
import { refuseFaults } from '../checks.ts'
import { readPushKeys } from './encrypt.ts'

export interface BrowsersEnv {
  readonly subscriptions: Pick<PushSubscriptions, 'listOf' | 'put' | 'remove'>
  /** The key that browsers subscribe with, in base64url. */
  readonly publicKey: () => Promise<string>
  /** Allows private and loopback addresses, and http. */
  readonly allowPrivate: boolean
  /** The name of a browser, from its User-Agent. */
  readonly describeBrowser: (userAgent: string) => string
}

/** As `PushSubscription.toJSON()` of a browser has it. */
export const SUBSCRIPTION = closed(['endpoint', 'keys'], {
  endpoint: text({ minLength: 1, maxLength: 2048 }),
  expirationTime: {},
  keys: closed(['p256dh', 'auth'], { p256dh: text({ maxLength: 200 }), auth: text({ maxLength: 100 }) }),
})

export class Browsers {
  readonly #env: BrowsersEnv

  constructor(env: BrowsersEnv) {
    this.#env = env
  }

  async list(principal: Principal): Promise<object> {
    const items = await this.#env.subscriptions.listOf(requireUser(principal))
    return { key: await this.#env.publicKey(), items: items.map(present) }
  }

  async add(principal: Principal, body: object, userAgent: string): Promise<object> {
    const userId = requireUser(principal)
    refuseFaults(findFaults(body, { schema: SUBSCRIPTION, patterns: new Map() }))
    const { endpoint, keys } = body as { endpoint: string; keys: { p256dh: string; auth: string } }
    refuseFaults(this.#faults(endpoint, keys))
    const { subscriptions, describeBrowser } = this.#env
    const known = await subscriptions.listOf(userId)
    if (known.length >= MOST_PUSH_SUBSCRIPTIONS && !known.some((each) => each.endpoint === endpoint))
      throw refuse('Alert.TooMany', `You have ${MOST_PUSH_SUBSCRIPTIONS} browsers that get notices, which is the limit`)
    return present(await subscriptions.put({ userId, endpoint, ...keys, label: describeBrowser(userAgent) }))
  }

  async remove(principal: Principal, id: string): Promise<void> {
    if (!(await this.#env.subscriptions.remove(id, requireUser(principal))))
      throw refuse('Alert.NotFound', 'There is no such browser')
  }

  #faults(endpoint: string, { p256dh, auth }: { readonly p256dh: string; readonly auth: string }) {
    const address = this.#env.allowPrivate ? calledAddressFault(endpoint) : publicAddressFault(endpoint)
    return [
      ...(address === undefined ? [] : [{ path: 'endpoint', text: address }]),
      ...(readPushKeys(p256dh, auth) === undefined ? [{ path: 'keys', text: 'are not those of a browser' }] : []),
    ]
  }
}

function publicAddressFault(endpoint: string): string | undefined {
  const fault = secureAddressFault(endpoint)
  if (fault !== undefined) return fault
  const host = new URL(endpoint).hostname.replace(/^\[|\]$/g, '')
  return isIP(host) !== 0 && !isPublicAddress(host) ? 'the address is private' : undefined
}

function requireUser({ kind, subject }: Principal): string {
  if (kind !== 'user') throw refuse('Alert.NotAllowed', 'Push is for users')
  return subject
}

function present({ id, label, createdAt }: PushSubscription): object {
  return { id, label, created: new Date(createdAt).toISOString() }
}
