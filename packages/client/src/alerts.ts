/** Alerts: live queries that tell what begins and ends, under `/alerts`. */
import { Collection } from './admin.ts'
import { asObject } from './errors.ts'
import { type Http, withSearch } from './http.ts'
import type { CallOptions } from './query.ts'
import type { Live, LiveOptions, LiveTag } from './stream/live.ts'

/** An alert of the caller. */
export interface Alert {
  readonly id: string
  readonly name: string
  readonly statement: string
  readonly parameters?: Readonly<Record<string, unknown>>
  readonly mode: 'state' | 'event'
  /** A condition over the columns of the result. */
  readonly when?: string
  readonly until?: string
  /** Times are texts such as `10 seconds`. */
  readonly for?: string
  readonly keep_firing?: string
  readonly elapsed?: string
  readonly repeat?: string
  readonly absent?: string
  readonly group?: string
  readonly active?: readonly { readonly days?: readonly string[]; readonly from: string; readonly to: string }[]
  readonly zone?: string
  readonly resolved?: boolean
  readonly paused: boolean
  readonly title?: string
  readonly text?: string
  readonly channels: readonly string[]
  readonly owner: string
  readonly username: string | null
  /** In quotes it is the ETag, for `ifMatch`. */
  readonly version: number
  readonly state: AlertState
  /** Why it is suspended, or cannot be evaluated. */
  readonly error: string | null
  /** When it was evaluated first; null: not yet. */
  readonly watched: string | null
  readonly created: string
  readonly updated: string
  /** The keys that are pending or firing. Not in lists. */
  readonly instances?: readonly AlertInstance[]
  readonly silences?: readonly { readonly key?: readonly unknown[]; readonly until: string }[]
}

/** What an alert shows: the worst of its keys, or why none is evaluated. */
export type AlertState = 'ok' | 'pending' | 'firing' | 'paused' | 'suspended' | 'error'

/** One key of the result that is in a state. */
export interface AlertInstance {
  /** Null: no row matches (`absent`). */
  readonly key: readonly unknown[] | null
  readonly state: 'pending' | 'firing'
  readonly since: string
  readonly row: unknown
}

/** A key of an alert that is followed. A timestamp is read as results read it. */
export interface FollowedKey {
  readonly alert: string
  readonly name: string
  /** The JSON text of its values; `null`: no row matches (`absent`). */
  readonly key: string
  readonly state: 'pending' | 'firing'
  readonly since: unknown
  readonly row: unknown
}

/** Something that has happened to an alert. */
export interface AlertEvent {
  readonly seq: number
  readonly at: string
  readonly type: 'firing' | 'resolved' | 'event' | 'error' | 'recovered'
  readonly key: readonly unknown[] | null
  readonly row: unknown
}

/** A delivery, and what came of it. */
export interface AlertDelivery {
  readonly id: string
  readonly channel: string
  readonly sequence: number
  readonly state: 'waiting' | 'sent' | 'dead' | 'dropped'
  readonly attempts: number
  readonly status: number | null
  readonly error: string | null
  /** How many others were joined to it. */
  readonly joined: number
  readonly created: string
  /** When it is tried next; null: not any more. */
  readonly next: string | null
  readonly ended: string | null
}

/** Where notices of alerts go. */
export interface AlertChannel {
  readonly name: string
  readonly kind: string
  readonly [member: string]: unknown
}

/** A browser that gets notices by push. */
export interface AlertBrowser {
  readonly id: string
  /** What it is called. */
  readonly label: string
  readonly created: string
}

/** `key` is the `applicationServerKey` of `PushManager.subscribe`. */
export interface AlertBrowsers {
  readonly key: string
  readonly items: readonly AlertBrowser[]
}

/** For how long, or until when, and of which key; without one, of all. */
export type Silence = ({ readonly for: string } | { readonly until: string | Date }) & {
  readonly key?: readonly unknown[]
}

/**
 * `gate.alerts`: the alerts of the caller.
 *
 * @example
 * ```ts
 * await gate.alerts.create({
 *   name: 'Wide spread',
 *   statement: 'select symbol, ask - bid as spread from last_quotes',
 *   when: 'spread > 0.5',
 *   channels: ['desk-hook'],
 * })
 * ```
 */
export class Alerts extends Collection<Alert> {
  readonly #http: Http
  readonly #live: LiveTag

  constructor(http: Http, live: LiveTag) {
    super(http, '/alerts')
    this.#http = http
    this.#live = live
  }

  /**
   * The keys that are pending or firing, of one alert or of all, kept up to date: a live query on `alertstates`.
   *
   * @example
   * ```ts
   * const firing = gate.alerts.follow()
   * for await (const { put, remove } of firing) show(firing.rows)
   * ```
   */
  follow(id?: string, options: LiveOptions = {}): Live<FollowedKey> {
    const live = this.#live(options)
    return id === undefined
      ? live<FollowedKey>`select * from alertstates`
      : live<FollowedKey>`select * from alertstates where alert = ${id}`
  }

  /** What has happened, newest first, page by page as it is read. */
  history(id: string, options: CallOptions = {}): AsyncGenerator<AlertEvent, void, undefined> {
    return this.#pages(`${alertPath(id)}/history`, options)
  }

  /** The deliveries of an alert, newest first. */
  deliveries(id: string, options: CallOptions = {}): AsyncGenerator<AlertDelivery, void, undefined> {
    return this.#pages(`${alertPath(id)}/deliveries`, options)
  }

  /** Tries a delivery again that could not be made. */
  async retry(id: string, delivery: string, options: CallOptions = {}): Promise<AlertDelivery> {
    const path = `${alertPath(id)}/deliveries/${encodeURIComponent(delivery)}/retry`
    return (await this.#post(path, {}, options)) as AlertDelivery
  }

  /** Sends nothing meanwhile; what still fires at the end is sent then. */
  async silence(id: string, silence: Silence, options: CallOptions = {}): Promise<Alert> {
    const path = `${alertPath(id)}/silence`
    return (await this.#post(path, silence, options)) as Alert
  }

  /** Ends the silence of a key, or all. */
  async unsilence(id: string, key?: readonly unknown[], options: CallOptions = {}): Promise<void> {
    const search = key === undefined ? {} : { key: JSON.stringify(key) }
    await this.#http.json(withSearch(`${alertPath(id)}/silence`, search), { ...options, method: 'DELETE' })
  }

  /** Sends a test to each channel of an alert. */
  async test(id: string, options: CallOptions = {}): Promise<readonly AlertDelivery[]> {
    return asObject(await this.#post(`${alertPath(id)}/test`, {}, options)).items as readonly AlertDelivery[]
  }

  /** The channels that the caller may use. */
  async channels(options: CallOptions = {}): Promise<readonly AlertChannel[]> {
    return asObject(await this.#http.json('/alerts/channels', options)).items as readonly AlertChannel[]
  }

  /** The key with which notices to an address of the caller are signed, where alerts may name such addresses as channels. */
  async webhook(url: string, options: CallOptions = {}): Promise<{ readonly url: string; readonly secret: string }> {
    return (await this.#post('/alerts/webhooks', { url }, options)) as { url: string; secret: string }
  }

  /** The user's browsers that get notices by push, and the key with which one subscribes. */
  async browsers(options: CallOptions = {}): Promise<AlertBrowsers> {
    return (await this.#http.json('/alerts/push', options)) as AlertBrowsers
  }

  /** Adds a browser: what its `PushSubscription` is as JSON. */
  async addBrowser(subscription: object, options: CallOptions = {}): Promise<AlertBrowser> {
    return (await this.#post('/alerts/push', subscription, options)) as AlertBrowser
  }

  async removeBrowser(id: string, options: CallOptions = {}): Promise<void> {
    await this.#http.json(`/alerts/push/${encodeURIComponent(id)}`, { ...options, method: 'DELETE' })
  }

  #post(path: string, body: object, options: CallOptions): Promise<unknown> {
    return this.#http.json(path, { ...options, method: 'POST', body })
  }

  async *#pages<Item>(first: string, options: CallOptions): AsyncGenerator<Item, void, undefined> {
    for (let path: string | null = first; path !== null; ) {
      const { items, next } = asObject(await this.#http.json(path, options))
      yield* items as Item[]
      path = typeof next === 'string' ? next : null
    }
  }
}

function alertPath(id: string): string {
  return `/alerts/${encodeURIComponent(id)}`
}
