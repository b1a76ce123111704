/** Licences of feeds, controllers and tables in a server: loaded when the first product covers any. */
import type { Clock } from 'gatehouse-protocol'
import type { Bus } from '../events/bus.ts'
import type { FeedLicences } from '../feeds/feeds.ts'
import { lazily } from '../lib/once.ts'
import { retryUntilDone } from '../lib/retry.ts'
import type { Licensing } from '../licences/licences.ts'
import type { TableLicences } from '../query/index.ts'
import { type DatabaseClock, openDatabaseClock } from '../store/database/database-clock.ts'
import type { MailPort } from '../store/mail/notify.ts'
import type { StreamLicences } from '../streaming/streaming.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import type { Resources } from './resources.ts'

export interface CoverageEnv {
  readonly resources: Pick<Resources, 'database' | 'stores' | 'audit'>
  readonly bus: Bus
  /** In tests. */
  readonly givenClock: Clock | undefined
  readonly metrics: Metrics
  /** The attribute with the firm, for the usage report; empty: none. */
  readonly firm: string
  /** Undefined where no mail is set up. */
  readonly mail: MailPort | undefined
  readonly onError: (error: unknown) => void
}

export interface Coverage {
  readonly feeds: FeedLicences
  readonly controllers: StreamLicences
  readonly tables: TableLicences
  /** Whether there are any products. */
  readonly hasProducts: boolean
  /** The time by which entitlements and places begin and end: that of the database. */
  clock(): Promise<Clock>
  /** Takes over the products of the database; changes are taken over by themselves. */
  reload(): Promise<void>
  /** Called when products may cover other feeds or controllers. */
  onChanged(listener: () => void): void
  close(): Promise<void>
}

const RELOAD = { firstMs: 50, longestMs: 2_000 }

export function openCoverage(env: CoverageEnv): Coverage {
  const { resources, bus, onError } = env
  const { products } = resources.stores.licences
  const listeners: (() => void)[] = []
  const tableListeners: ((tables: ReadonlySet<string>) => void)[] = []
  let tablesVersion = 0
  let isLoaded = false
  const closing = new AbortController()
  let databaseClock: DatabaseClock | undefined
  const clock = lazily(async () => {
    databaseClock = await openDatabaseClock(resources.database, env.givenClock, onError)
    return databaseClock.now
  })
  let hasProducts = false
  let jobs: { close(): Promise<void> } | undefined
  let licensing: { readonly opened: Licensing; close(): Promise<void> } | undefined
  let reloading: Promise<void> = Promise.resolve()

  async function reloadNow(): Promise<void> {
    const declared = await products.list()
    hasProducts = declared.length > 0
    if (licensing === undefined) {
      if (hasProducts) jobs ??= await startJobs(env, await clock())
      const isNeeded = declared.some(({ covers }) => covers.some((each) => !('resource' in each)))
      if (isNeeded) licensing = await loadLicensing(env, await clock())
    }
    const tables = (await licensing?.opened.reload()) ?? new Set<string>()
    const isFirst = !isLoaded
    isLoaded = true
    if (tables.size > 0) tablesVersion++
    if (licensing !== undefined) for (const listener of listeners) listener()
    if (tables.size > 0 || isFirst) for (const listener of tableListeners) listener(tables)
  }

  /** One after the other: the last one sees the last change. */
  function reload(): Promise<void> {
    reloading = reloading.catch(() => {}).then(reloadNow)
    return reloading
  }

  const unsubscribe = bus.subscribe(({ kind }) =>
    kind === 'licences-changed' ? retryUntilDone(reload, RELOAD, onError, closing.signal) : undefined,
  )
  const open = () => {
    if (licensing === undefined) throw new Error('No product covers anything of this server')
    return licensing.opened
  }
  return {
    feeds: {
      covers: (feed) => licensing?.opened.covers('feed', feed) ?? false,
      catchUp: (feed) => (licensing?.opened.covers('feed', feed) ? licensing.opened.catchUp() : undefined),
      open: ({ feed: name, ...request }) => open().openTopics({ ...request, kind: 'feed', name }),
      hasRealtime: (name, choice, principal) => open().hasRealtime({ kind: 'feed', name, choice, principal }),
    },
    controllers: {
      covers: (controller) => licensing?.opened.covers('controller', controller) ?? false,
      catchUp: () => licensing?.opened.catchUp(),
      open: ({ controller: name, topic, ...request }) =>
        open().openTopics({ ...request, kind: 'controller', name, choice: { kind: 'topic', topic }, way: 'stream' }),
    },
    tables: {
      get version() {
        return tablesVersion
      },
      covers: (table) => licensing?.opened.tables.coverage(table),
      delays: (table) => (isLoaded ? (licensing?.opened.tables.delays(table) ?? []) : undefined),
      find: (caller, table) => licensing?.opened.tables.find(caller, table),
      hold: (caller, needs) => open().tables.hold(caller, needs),
      follow: (caller, onChange) => open().tables.follow(caller, onChange),
      onChanged: (listener) => void tableListeners.push(listener),
    },
    get hasProducts() {
      return hasProducts
    },
    clock,
    reload,
    onChanged: (listener) => void listeners.push(listener),
    async close() {
      closing.abort()
      unsubscribe()
      await reloading.catch(() => {})
      await licensing?.close()
      await jobs?.close()
      databaseClock?.close()
    },
  }
}

async function loadLicensing({ resources, bus, metrics, firm, onError }: CoverageEnv, clock: Clock) {
  const { openLicences, openLicensing, openPlaces } = await import('../licences/licences.ts')
  const { database, stores, audit } = resources
  const licences = openLicences({ stores, bus, clock })
  const places = openPlaces({ licences, database, bus, audit, clock, metrics, firm, onError })
  const isShared = database.engine === 'postgres'
  const opened = openLicensing({ licences, places, isShared, bus, clock, metrics, onError })
  return {
    opened,
    async close() {
      await opened.close()
      await places.close()
      licences.close()
    },
  }
}

/** Begun with the first product. */
async function startJobs({ resources, bus, metrics, mail, onError }: CoverageEnv, clock: Clock) {
  const { startWarnings, watchPlaces } = await import('../licences/licences.ts')
  const { database, stores } = resources
  const counts = watchPlaces(stores, metrics, onError)
  const warnings = startWarnings({ database, stores, clock, metrics, mail, bus, onError })
  return {
    async close() {
      counts.close()
      await warnings.close()
    },
  }
}
