/** What has come of an alert: the states of its keys, its history, its deliveries and silences. */
import type { Clock, Principal } from 'gatehouse-protocol'
import { parseExactly } from '../lib/exact-json.ts'
import { type AlertDelivery, type AlertRows, type ListedDelivery, refuse } from '../query/index.ts'
import { isAddress } from '../resources/alert-shape.ts'
import type { Alert } from '../store/alerts/alert.ts'
import type { Channel } from '../store/alerts/channels.ts'
import { newId } from '../store/keys/opaque.ts'
import { buildNotice } from './build-notice.ts'
import { addressFault, refuseFaults } from './checks.ts'
import { allChannels, mayUse } from './deliver/built-in.ts'
import type { OwnWebhooks } from './deliver/own-webhooks.ts'
import type { SilenceRequest } from './http/body.ts'

export interface OutcomesEnv {
  readonly rows: AlertRows
  readonly channels: { list(): Promise<readonly Channel[]> }
  readonly clock: Clock
  readonly hasMail: boolean
  readonly ownWebhooks: OwnWebhooks | undefined
  /** Where people see the alert. */
  readonly url: (alert: Alert) => string
}

interface Page {
  readonly items: readonly object[]
  /** Where the next page begins; undefined if there is none. */
  readonly last: string | undefined
}

export class Outcomes {
  readonly #env: OutcomesEnv

  constructor(env: OutcomesEnv) {
    this.#env = env
  }

  /** It was handed over, and what is there is still of its former owner. */
  async #isAnothers({ id, owner }: Pick<Alert, 'id' | 'owner'>): Promise<boolean> {
    const run = await this.#env.rows.findRun(id)
    return run !== undefined && run.owner !== owner
  }

  /** The keys that are in a state, and the silences that are not over. */
  async details(alert: Pick<Alert, 'id' | 'owner'>): Promise<object> {
    const { id } = alert
    const { rows, clock } = this.#env
    if (await this.#isAnothers(alert)) return { instances: [], silences: [] }
    const states = (await rows.states(id)).filter(({ state }) => state === 'pending' || state === 'firing')
    const silences = (await rows.silencesOf(id)).filter(({ until }) => until > clock())
    return {
      instances: states.map(({ key, state, since, row }) => ({
        key: parseExactly(key),
        state,
        since: instant(since),
        row: parseExactly(row),
      })),
      silences: silences.map(({ key, until }) => ({
        ...(key !== '' && { key: parseExactly(key) }),
        until: instant(until),
      })),
    }
  }

  /** Those that the caller may use. */
  async channels({ scopes }: Principal): Promise<readonly object[]> {
    const all = [...allChannels(await this.#env.channels.list()).values()]
    const usable = all.filter((channel) => mayUse(channel, scopes) && (channel.kind !== 'mail' || this.#env.hasMail))
    return usable.map(({ name, kind, disabled }) => ({ name, kind, disabled }))
  }

  /** Whether alerts may name addresses of their owners. */
  get hasOwnWebhooks(): boolean {
    return this.#env.ownWebhooks !== undefined
  }

  /** The key with which notices to an address of the caller are signed. */
  showWebhook({ subject }: Principal, url: string): object {
    const fault = isAddress(url) ? addressFault(url, this.#env) : 'must be an https address'
    refuseFaults(fault === undefined ? [] : [{ path: 'url', text: fault }])
    return { url, secret: this.#env.ownWebhooks?.readSecret(subject, url) }
  }

  async silence({ id: alert }: Alert, { forMs, until, key = '' }: SilenceRequest): Promise<void> {
    const end = until ?? this.#env.clock() + (forMs ?? 0)
    await this.#env.rows.silence({ alert, key, until: end })
  }

  /** `key` is its JSON text; without one, all of the alert. */
  async unsilence({ id: alert }: Alert, key: string | undefined): Promise<void> {
    await this.#env.rows.unsilence(alert, key === undefined ? undefined : canonicalKey(key))
  }

  /** A delivery of the type `test` to each of its channels. */
  async test(alert: Alert): Promise<readonly object[]> {
    const now = this.#env.clock()
    const parts = { type: 'alert.test', instances: [], now, url: this.#env.url(alert) } as const
    const notice = buildNotice(alert, { ...parts, error: 'Nothing has happened. This is a test.' })
    const deliveries = alert.definition.channels.map(
      (channel): AlertDelivery => ({
        ...{ id: newId(), alert: alert.id, channel, sequence: 0, state: 'waiting', created: now, next_at: now },
        ...{ ended: null, attempts: 0, status: null, error: null, joined: 0, notice: JSON.stringify(notice) },
      }),
    )
    await this.#env.rows.addDeliveries(deliveries)
    return deliveries.map(presentDelivery)
  }

  async history(alert: Alert, after: string | undefined, limit: number): Promise<Page> {
    if (await this.#isAnothers(alert)) return NOTHING
    const { id } = alert
    const before = after === undefined ? Number.MAX_SAFE_INTEGER : readNumber(after)
    const events = await this.#env.rows.events(id, before, limit)
    const last = events.length === limit ? events.at(-1) : undefined
    return {
      items: events.map(({ seq, at, type, key, row }) => ({
        ...{ seq, at: instant(at), type },
        key: key === null ? null : parseExactly(key),
        row: row === null ? null : parseExactly(row),
      })),
      last: last && String(last.seq),
    }
  }

  async deliveries(alert: Alert, after: string | undefined, limit: number): Promise<Page> {
    if (await this.#isAnothers(alert)) return NOTHING
    const { id } = alert
    const [, created = Number.MAX_SAFE_INTEGER, key = '\u{10ffff}'] = /^(\d{1,15})\.([\w-]+)$/.exec(after ?? '') ?? []
    const found = await this.#env.rows.deliveries(id, { created: Number(created), id: String(key) }, limit)
    const last = found.length === limit ? found.at(-1) : undefined
    return { items: found.map(presentDelivery), last: last && `${last.created}.${last.id}` }
  }

  /** One that could not be delivered waits again. */
  async retry(retried: Alert, id: string): Promise<object> {
    const { rows, clock } = this.#env
    const { id: alert } = retried
    if ((await this.#isAnothers(retried)) || !(await rows.retry(alert, id, clock())))
      throw refuse('Alert.NotFound', 'There is no such delivery, or it is not one that could not be delivered')
    const delivery = await rows.findDelivery(id)
    if (delivery === undefined) throw refuse('Alert.NotFound', 'There is no such delivery')
    return presentDelivery(delivery)
  }
}

const NOTHING: Page = { items: [], last: undefined }

function presentDelivery(delivery: ListedDelivery): object {
  const { id, channel, sequence, state, created, next_at: nextAt, ended, attempts, status, error, joined } = delivery
  return {
    ...{ id, channel, sequence, state, attempts, status, error, joined },
    created: instant(created),
    next: state === 'waiting' ? instant(nextAt) : null,
    ended: ended === null ? null : instant(ended),
  }
}

function instant(milliseconds: number): string {
  return new Date(milliseconds).toISOString()
}

function readNumber(text: string): number {
  if (!/^\d{1,15}$/.test(text)) throw refuse('Request.BadParameter', 'after must be as in next of the previous page')
  return Number(text)
}

function canonicalKey(text: string): string {
  try {
    return JSON.stringify(parseExactly(text))
  } catch {
    throw refuse('Request.BadParameter', 'key must be the JSON of a key, such as ["BHP"]')
  }
}
