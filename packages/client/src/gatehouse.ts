/** All of it in one object: requests, queries, tables, the stream, live queries, feeds and the administration. */
import { type Admin, Collection, createAdmin } from './admin.ts'
import { Alerts } from './alerts.ts'
import type { TokenSource } from './auth/token-source.ts'
import { createFeeds, type FeedByName } from './feed/feed.ts'
import { type GatehouseOptions, Http } from './http.ts'
import { Licences } from './licences.ts'
import { createQuery, type QueryTag, type Row } from './query.ts'
import type { SavedDocument } from './saved.ts'
import { createLive, type LiveTag } from './stream/live.ts'
import { LiveTransport } from './stream/live-transport.ts'
import type { StateChange } from './stream/protocol.ts'
import { Stream } from './stream/stream.ts'
import { Table } from './table.ts'

/**
 * A client of one server.
 *
 * @example
 * ```ts
 * const gate = new Gatehouse('https://gate.example.com', { auth: browser({ clientId: 'spa', scope: 'openid Platform/Market' }) })
 * if (!(await gate.auth.signedIn())) await gate.auth.signIn()
 * const rows = await gate.query`select * from trades where symbol = ${symbol} limit 10`
 * ```
 */
export class Gatehouse<Source extends TokenSource = TokenSource> extends Http<Source> {
  /** The WebSocket of this client; it connects when it is first used. */
  readonly stream: Stream
  /** Runs a statement: `` await gate.query`select …` ``. */
  readonly query: QueryTag
  /** Keeps the result of a statement up to date: `` gate.live`select …` ``. */
  readonly live: LiveTag
  /** A feed by name: `gate.feed('Prices').subscribe('ACME')`. */
  readonly feed: FeedByName
  /** Users, clients, roles and the rest, for administrators. */
  readonly admin: Admin
  /** Saved queries and boards: the user's own, and those shared by others. */
  readonly saved: Collection<SavedDocument>
  /** The user's alerts: live queries that tell what begins and ends. */
  readonly alerts: Alerts
  /** What the caller may see of market data: products, agreements, trials. */
  readonly licences: Licences

  constructor(url: string, options: GatehouseOptions<Source> = {}) {
    super(url, options)
    this.stream = new Stream(this)
    this.query = createQuery(this)
    this.live = createLive(new LiveTransport(this.stream), this.values)
    this.feed = createFeeds(this.stream)
    this.admin = createAdmin(this)
    this.saved = new Collection(this, '/saved')
    this.alerts = new Alerts(this, this.live)
    this.licences = new Licences(this)
  }

  /** A table by name, for calls that need no statement. */
  table<R = Row>(name: string): Table<R> {
    return new Table<R>(this, name)
  }

  /** Calls the listener after each change of the state of the stream. Returns a function that removes the listener. */
  on(event: 'state', listener: (change: StateChange) => void): () => void {
    return this.stream.on(event, listener)
  }
}
