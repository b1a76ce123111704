/**
 * The servers of the PostgreSQL database: every connection goes to the one that this chooses, and none to a server that this node must
 * not use. With several servers it finds the primary, and follows it when it changes.
 */
import type { Client, ClientBase, Pool } from 'pg'
import { loadPg } from '../pg.ts'
import { AcknowledgedWrites, trackWrites } from './acknowledged-writes.ts'
import { formatAddress, type NamedServers, namedServers, type ServerAddress } from './addresses.ts'
import {
  createServerPool,
  destroyClient,
  directTo,
  isPooled,
  type ServerChoice,
  type ServerClientClass,
  type ServerClientConfig,
  type ServerPoolConfig,
  serverClientClass,
} from './client.ts'
import { describeLoss, type Incarnation, readHistory, recordIncarnation, ServerHistory } from './history.ts'
import { readIdentity, type ServerIdentity } from './identity.ts'
import { PrimarySearch } from './primary-search.ts'
import { readSeenTimeline, type SeenTimeline, writeSeenTimeline } from './timeline-file.ts'
import { UnfitServer } from './unfit-server.ts'

export type ServersEvent =
  | { readonly kind: 'failover'; readonly server: string; readonly timeline: number | undefined }
  | { readonly kind: 'writes stopped'; readonly reason: string }
  | { readonly kind: 'writes accepted' }

export interface ServersOptions {
  /** The name of this node, for operators. */
  readonly node?: string | undefined
  /** Where a node keeps the latest timeline that it has seen; only of a database that can fail over. */
  readonly dataFolder?: string | undefined
  /** For a node, which looks for a new primary also while it has no need to connect, and records each one in the database. */
  readonly isNode?: boolean | undefined
  readonly onEvent?: ((event: ServersEvent) => void) | undefined
}

const PROBE_MS = 1000
/** Of a server that has not answered yet, and of the connection that records a primary: a link may be slow. */
const FIRST_CONNECT_MS = 5000

export class DatabaseServers implements ServerChoice {
  readonly named: NamedServers
  readonly history = new ServerHistory()
  readonly #writes = new AcknowledgedWrites()
  readonly #options: ServersOptions
  readonly #Client: ServerClientClass
  readonly #search: PrimarySearch | undefined
  /** The open connections, with the servers that they go to. */
  readonly #clients = new Map<ClientBase, ServerAddress | undefined>()
  /** The primary that this node has used last. */
  #known: ServerIdentity | undefined
  /** The latest timeline that it had seen when it was started. */
  readonly #remembered: SeenTimeline | undefined
  #registering: { readonly incarnation: string; readonly done: Promise<void> } | undefined
  /** Why writes are stopped. */
  #lost: string | undefined
  #isPooled = false
  #isRecording = false
  #failovers = 0
  #markTimer: NodeJS.Timeout | undefined
  #markers: Pool | undefined

  constructor(url: string, options: ServersOptions = {}) {
    this.named = namedServers(url)
    this.#options = options
    this.#Client = serverClientClass(this)
    const { addresses, isFailover } = this.named
    if (!isFailover) return
    this.#remembered = options.dataFolder === undefined ? undefined : readSeenTimeline(options.dataFolder)
    this.#search = new PrimarySearch({
      addresses,
      createClient: (address, isKnown) => this.#probeClient(address, isKnown ? PROBE_MS : FIRST_CONNECT_MS, PROBE_MS),
      isWatching: options.isNode ?? false,
      refuse: (identity) => this.#refuse(identity),
      onPrimary: (address) => this.#follow(address),
      onAnswer: (client, identity) => this.#lookForLoss(client, identity),
    })
  }

  /** Why writes are stopped; undefined while they are not. */
  get lost(): string | undefined {
    return this.#lost
  }

  get timeline(): number | undefined {
    return this.#known?.timeline
  }

  get failovers(): number {
    return this.#failovers
  }

  /** A pooler such as PgBouncer is between this node and the database. */
  get isPooled(): boolean {
    return this.#isPooled
  }

  createPool(config: ServerPoolConfig): Pool {
    const { connectionString } = this.named
    return createServerPool(this, { ...config, connectionString, Client: this.#Client })
  }

  createClient(config: ServerClientConfig): Client {
    return new this.#Client({ ...config, connectionString: this.named.connectionString })
  }

  /** The node stops: if there is no primary, it does not wait for one. */
  hurry(): void {
    this.#search?.hurry()
  }

  async close(): Promise<void> {
    clearTimeout(this.#markTimer)
    await this.#markers?.end().catch(() => {})
    await this.#search?.stop()
  }

  async choose(withinMs: number): Promise<ServerAddress | undefined> {
    return this.#search?.find(withinMs)
  }

  failed(address: ServerAddress | undefined): void {
    this.#search?.suspect(address)
  }

  mayRetry(error: unknown): boolean {
    if (this.#search === undefined || isRefusedLogin(error)) return false
    // That no primary was found in time is the answer.
    return !(error instanceof UnfitServer && error.code === 'GATEHOUSE_NO_PRIMARY')
  }

  onError(client: Client, error: Error): void {
    const code = 'code' in error ? error.code : undefined
    if (code === '25006' && this.#lost !== undefined) {
      Object.assign(error, {
        code: 'GATEHOUSE_LOST_WRITES',
        message: `Writes are stopped: ${this.#lost}. See "gatehouse database accept --help"`,
      })
    } else if (code === '25006' || /^57P0/.test(String(code))) {
      this.#search?.suspect(this.#clients.get(client))
    }
  }

  async admit(client: Client, identity: ServerIdentity | undefined, address: ServerAddress | undefined): Promise<void> {
    if (identity !== undefined) {
      const refusal = this.#refuse(identity)
      if (refusal !== undefined) throw refusal
      this.#isPooled ||= isPooled(client, identity)
      await this.#recognise(client, identity)
    }
    if (this.#lost !== undefined) await client.query('SET default_transaction_read_only = on')
    this.#clients.set(client, address)
    client.once('end', () => {
      this.#clients.delete(client)
    })
    client.on('error', () => this.#search?.suspect(address))
    if (this.named.isFailover) trackWrites(client, this.#writes)
  }

  /** A write was acknowledged without a witness in its transaction: a later one stands for it. */
  acknowledged(): void {
    if (!this.named.isFailover || this.#markTimer !== undefined) return
    this.#markTimer = setTimeout(() => {
      this.#markTimer = undefined
      this.#mark().catch(() => {})
    }, MARK_MS).unref()
  }

  async #mark(): Promise<void> {
    if (this.#markers === undefined) {
      this.#markers = this.createPool({ max: 1, connectionTimeoutMillis: 5000, application_name: 'gatehouse failover' })
      this.#markers.on('error', () => {})
    }
    const witness = this.#writes.begin()
    const reply: unknown = await this.#markers.query(
      `BEGIN; SELECT pg_logical_emit_message(true, 'gatehouse', ''); ${witness.sql}; COMMIT`,
    )
    const [, , read] = reply as readonly { readonly rows: readonly { readonly xid: string; readonly lsn: string }[] }[]
    const row = read?.rows[0]
    if (row === undefined) return
    witness.onRow([row.xid, row.lsn])
    witness.acknowledge()
  }

  /** Why this node must not use the server. */
  #refuse({ isStandby, isReadOnly, system, timeline = 0 }: ServerIdentity): UnfitServer | undefined {
    const { target, isFailover } = this.named
    if ((isStandby && target !== 'any') || (isReadOnly && target === 'read-write'))
      return new UnfitServer('GATEHOUSE_STANDBY', 'The database server is a standby or read-only')
    const known = this.#known ?? this.#remembered
    // One plain host is the database, whatever is there.
    if (known === undefined || isStandby || !isFailover) return undefined
    if (system !== known.system)
      return new UnfitServer(
        'GATEHOUSE_OTHER_CLUSTER',
        `The database server belongs to another cluster (${system}) than before (${known.system})`,
      )
    if (timeline < (known.timeline ?? 0))
      return new UnfitServer(
        'GATEHOUSE_OLD_PRIMARY',
        `The database server is an old primary: its timeline is ${timeline}, and ${known.timeline} has begun since`,
      )
    return undefined
  }

  /** The first connection to a primary records it; others wait until it is recorded. */
  async #recognise(client: Client, identity: ServerIdentity): Promise<void> {
    const { incarnation, timeline, isStandby } = identity
    if (isStandby || (this.#known?.incarnation === incarnation && this.#known.timeline === timeline)) return
    if (this.#registering?.incarnation !== incarnation) {
      const done = this.#compare(client, identity)
      this.#registering = { incarnation, done }
      void done
        .catch(() => {})
        .then(() => {
          if (this.#registering?.done === done) this.#registering = undefined
        })
    }
    await this.#registering.done
  }

  async #register(address: ServerAddress | undefined): Promise<void> {
    const client = this.#probeClient(address, FIRST_CONNECT_MS, FIRST_CONNECT_MS)
    client.on('error', () => {})
    try {
      await client.connect()
      const identity = await readIdentity(client)
      const refusal = this.#refuse(identity)
      if (refusal !== undefined) throw refusal
      await this.#compare(client, identity)
    } finally {
      destroyClient(client)
    }
  }

  async #compare(client: Client, identity: ServerIdentity): Promise<void> {
    const before = this.#known
    // Looked at again: nothing has taken over, so nothing can be lost.
    const isSame = before?.incarnation === identity.incarnation && before.timeline === identity.timeline
    const incarnations = identity.isStandby ? undefined : await readHistory(client, identity.system)
    if (incarnations !== undefined) {
      const takenOverAt = findEnd(before?.timeline ?? 0, incarnations) ?? identity.recoveredTo
      const missing = isSame ? undefined : await this.#writes.missingFrom(client, takenOverAt)
      const { node = '' } = this.#options
      const lost = missing === undefined ? undefined : describeLoss(node, missing, identity, takenOverAt)
      if (this.#isRecording || lost !== undefined) await recordIncarnation(client, identity, lost)
      this.history.replace((await readHistory(client, identity.system)) ?? [])
    }
    this.#known = identity
    this.#remember(identity)
    if (!isSame) this.#writes.clear()
    this.#setLost(this.history.lost)
    if (before !== undefined && before.timeline !== identity.timeline) {
      this.#failovers++
      const server = client.host === undefined ? '' : formatAddress({ host: client.host, port: client.port })
      this.#options.onEvent?.({ kind: 'failover', server, timeline: identity.timeline })
    }
  }

  /** Not before the start is past its checks: then the folder exists. */
  #remember({ system, timeline }: ServerIdentity): void {
    const { dataFolder } = this.#options
    if (!this.#isRecording || !this.named.isFailover || dataFolder === undefined || timeline === undefined) return
    const seen = readSeenTimeline(dataFolder)
    if (seen?.system === system && seen.timeline === timeline) return
    // A node that cannot write it does without.
    try {
      writeSeenTimeline(dataFolder, { system, timeline })
    } catch {}
  }

  /** Records primaries from now on: a start that is refused changes nothing, and the table exists once the database is migrated. */
  async recordHistory(): Promise<void> {
    if (this.#options.isNode !== true) return
    this.#isRecording = true
    if (this.#known !== undefined) await this.#register(await this.choose(FIRST_CONNECT_MS))
  }

  /** Another node may have found that writes are lost, and an operator may have accepted it. */
  async #lookForLoss(client: ClientBase, identity: ServerIdentity): Promise<void> {
    const { system, incarnation } = identity
    if (incarnation !== this.#known?.incarnation || this.history.incarnations.length === 0) return
    // The file may have been removed, or set by "gatehouse database accept" while another server answered.
    this.#remember(identity)
    const incarnations = await readHistory(client, system)
    if (incarnations === undefined) return
    this.history.replace(incarnations)
    this.#setLost(this.history.lost)
  }

  /** Connections that are open were made for the other case. */
  #setLost(lost: string | undefined): void {
    if (lost === this.#lost) return
    this.#lost = lost
    this.#options.onEvent?.(lost === undefined ? { kind: 'writes accepted' } : { kind: 'writes stopped', reason: lost })
    this.#drop(() => true)
  }

  /** Connections to other servers are of no use, and may never answer. */
  #follow(primary: ServerAddress): void {
    this.#drop((address) => address !== primary)
  }

  #drop(isDropped: (address: ServerAddress | undefined) => boolean): void {
    const reason = new UnfitServer('GATEHOUSE_FAILED_OVER', 'The database has another primary now')
    for (const [client, address] of [...this.#clients]) if (isDropped(address)) destroyClient(client, reason)
  }

  #probeClient(address: ServerAddress | undefined, connectMs: number, queryMs: number): Client {
    const client = new (loadPg().Client)({
      connectionString: this.named.connectionString,
      connectionTimeoutMillis: connectMs,
      query_timeout: queryMs,
      keepAlive: true,
      application_name: 'gatehouse failover',
    })
    if (address !== undefined) directTo(client, address)
    return client
  }
}

/** Where the next timeline took over, as a node recorded it. After a restart of that primary, recovery ended later. */
function findEnd(timeline: number, incarnations: readonly Incarnation[]): bigint | undefined {
  const next = incarnations.flatMap((each) => (each.timeline === timeline + 1 ? (each.recoveredTo ?? []) : []))
  return next.reduce<bigint | undefined>((least, lsn) => (least === undefined || lsn < least ? lsn : least), undefined)
}

/** How soon a witness stands for writes that have none. */
const MARK_MS = 200

/** Another server would refuse it too: wrong password, no such database or user. */
function isRefusedLogin(error: unknown): boolean {
  return error instanceof Error && 'code' in error && /^(28|3D)/.test(String(error.code))
}
