/** Licences of feeds and controllers in a server: loaded when the first product covers any. */
import type { Clock } from 'gatehouse-protocol'
import type { Bus } from '../events/bus.ts'
import type { FeedLicences } from '../feeds/feeds.ts'
import { retryUntilDone } from '../lib/retry.ts'
import type { Licensing } from '../licences/licences.ts'
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
  /** Takes over the products of the database; changes are taken over by themselves. */
  reload(): Promise<void>
  /** Called when products cover other feeds or controllers. */
  onChanged(listener: () => void): void
  close(): Promise<void>
}

const RELOAD = { firstMs: 50, longestMs: 2_000 }

export function openCoverage(env: CoverageEnv): Coverage {
  const { resources, bus, onError } = env
  const { products } = resources.stores.licences
  const listeners: (() => void)[] = []
  const closing = new AbortController()
  let licensing: { readonly opened: Licensing; close(): Promise<void> } | undefined
  let reloading: Promise<void> = Promise.resolve()

  async function reloadNow(): Promise<void> {
    if (licensing === undefined) {
      const declared = await products.list()
      if (!declared.some(({ covers }) => covers.some((each) => 'feed' in each || 'controller' in each))) return
      licensing = await loadLicensing(env)
    }
    await licensing.opened.reload()
    for (const listener of listeners) listener()
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
    if (licensing === undefined) throw new Error('No product covers a feed or controller')
    return licensing.opened
  }
  return {
    feeds: {
      covers: (feed) => licensing?.opened.covers('feed', feed) ?? false,
      open: ({ feed: name, ...request }) => open().openTopics({ ...request, kind: 'feed', name }),
    },
    controllers: {
      covers: (controller) => licensing?.opened.covers('controller', controller) ?? false,
      open: ({ controller: name, topic, ...request }) =>
        open().openTopics({ ...request, kind: 'controller', name, choice: { kind: 'topic', topic }, way: 'stream' }),
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
