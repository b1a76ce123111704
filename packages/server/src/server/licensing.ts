/** Licences of feeds, controllers and tables in a server: loaded when the first product covers any. */
import type { Clock } from 'gatehouse-protocol'
import type { Bus } from '../events/bus.ts'
import type { FeedLicences } from '../feeds/feeds.ts'
import { retryUntilDone } from '../lib/retry.ts'
import type { Licensing } from '../licences/licences.ts'
import type { TableLicences } from '../query/index.ts'
import type { StreamLicences } from '../streaming/streaming.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import type { Resources } from './resources.ts'

export interface CoverageEnv {
  readonly resources: Pick<Resources, 'database' | 'stores' | 'audit'>
  readonly bus: Bus
  readonly clock: Clock
  readonly metrics: Metrics
  /** The attribute with the firm, for the usage report; empty: none. */
  readonly firm: string
  readonly onError: (error: unknown) => void
}

export interface Coverage {
  readonly feeds: FeedLicences
  readonly controllers: StreamLicences
  readonly tables: TableLicences
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
  const closing = new AbortController()
  let licensing: { readonly opened: Licensing; close(): Promise<void> } | undefined
  let reloading: Promise<void> = Promise.resolve()

  async function reloadNow(): Promise<void> {
    if (licensing === undefined) {
      const declared = await products.list()
      if (!declared.some(({ covers }) => covers.some((each) => !('resource' in each)))) return
      licensing = await loadLicensing(env)
    }
    const tables = await licensing.opened.reload()
    if (tables.size > 0) tablesVersion++
    for (const listener of listeners) listener()
    if (tables.size > 0) for (const listener of tableListeners) listener(tables)
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
      open: ({ feed: name, ...request }) => open().openTopics({ ...request, kind: 'feed', name }),
      hasRealtime: (name, choice, principal) => open().hasRealtime({ kind: 'feed', name, choice, principal }),
    },
    controllers: {
      covers: (controller) => licensing?.opened.covers('controller', controller) ?? false,
      open: ({ controller: name, topic, ...request }) =>
        open().openTopics({ ...request, kind: 'controller', name, choice: { kind: 'topic', topic }, way: 'stream' }),
    },
    tables: {
      get version() {
        return tablesVersion
      },
      covers: (table) => licensing?.opened.tables.coverage(table),
      find: (caller, table) => licensing?.opened.tables.find(caller, table),
      hold: (caller, tables) => open().tables.hold(caller, tables),
      follow: (caller, onChange) => open().tables.follow(caller, onChange),
      onChanged: (listener) => void tableListeners.push(listener),
    },
    reload,
    onChanged: (listener) => void listeners.push(listener),
    async close() {
      closing.abort()
      unsubscribe()
      await reloading.catch(() => {})
      await licensing?.close()
    },
  }
}

async function loadLicensing({ resources, bus, clock, metrics, firm, onError }: CoverageEnv) {
  const { openLicences, openLicensing, openPlaces } = await import('../licences/licences.ts')
  const { database, stores, audit } = resources
  const licences = openLicences({ stores, bus, clock })
  const places = openPlaces({ licences, database, bus, audit, clock, metrics, firm, onError })
  const opened = openLicensing({ licences, places, bus, clock, metrics, onError })
  return {
    opened,
    async close() {
      await opened.close()
      await places.close()
      licences.close()
    },
  }
}
