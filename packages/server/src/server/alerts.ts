/** The alerts in a server: loaded when there is one, or by the first request about them. */
import type { ChannelSender } from '../admin/ports.ts'
import type { Alerts } from '../alerts/alerts.ts'
import type { Config } from '../config/config.ts'
import type { LazyRouteGroups } from '../http/route.ts'
import type { Identity } from '../identity/identity.ts'
import { lazily } from '../lib/once.ts'
import { retryUntilDone } from '../lib/retry.ts'
import { exceptOutages } from '../lib/unavailable.ts'
import { type QueryService, TermLost } from '../query/index.ts'
import type { Alert } from '../store/alerts/alert.ts'
import type { Channel } from '../store/alerts/channels.ts'
import { transactWithEvents } from '../store/cluster/event-transaction.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import { alertOwners } from './alert-owners.ts'
import type { Base } from './base.ts'
import type { Resources } from './resources.ts'
import type { Cleanup } from './watch/cleanup.ts'

export interface AlertParts {
  readonly query: QueryService
  readonly identity: Pick<Identity, 'users' | 'clients'>
  readonly metrics: Metrics
}

/** Loaded by the first test of a channel. */
export async function openChannelSender(
  { stores, clock, masterKey }: Resources,
  { brandName: name }: Pick<Config, 'brandName'>,
): Promise<ChannelSender> {
  const { testChannel } = await import('../alerts/alerts.ts')
  const env = { channels: stores.channels, clock, sealingKey: masterKey.derive('providers'), name }
  return { test: (channel) => testChannel(channel, env) }
}

const FOLLOW = { firstMs: 50, longestMs: 5_000 }

/** Follows the alerts of the database, where the query service runs. */
export function openAlertRoutes(base: Base, parts: AlertParts, cleanup: Cleanup): LazyRouteGroups {
  const { bus, logger, resources } = base
  const onError = exceptOutages((error) => logger.error({ err: error }, 'alerts error'))
  const closing = new AbortController()
  const load = lazily(() => loadAlerts(base, parts, onError))
  let isLoaded = false
  const follow = async (): Promise<void> => {
    if (!isLoaded && (await resources.stores.alerts.count()) === 0) return
    isLoaded = true
    await (await load()).keeper.follow()
  }
  const followSurely = () => retryUntilDone(follow, FOLLOW, onError, closing.signal)
  const unsubscribe = bus.subscribe(({ kind }) => {
    if (kind === 'alerts-changed') void followSurely()
  })
  void followSurely()
  cleanup.add(async () => {
    closing.abort()
    unsubscribe()
    if (isLoaded) (await load()).keeper.close()
  })
  return { at: ['/alerts'], limit: 'query', load: async () => [(await load()).routes] }
}

async function loadAlerts(
  { config, issuer, resources, bus, clock, logger }: Base,
  { query, identity, metrics }: AlertParts,
  onError: (error: unknown) => void,
): Promise<Alerts> {
  const { openAlerts } = await import('../alerts/alerts.ts')
  const { stores, audit, database, masterKey } = resources
  const { users, clients } = identity
  const owners = alertOwners({ users, clients, consents: stores.consents, clock })
  const transaction = { database, clock, receive: bus.receive }
  const url = ({ id }: Alert) => (config.console ? `${issuer.replace(/\/$/, '')}/console/alerts/${id}` : '')
  const shared = {
    rows: query.alerts,
    live: query.live,
    owners,
    clock,
    url,
    channels: stores.channels,
    definitions: stores.alerts,
  }
  return openAlerts({
    ...shared,
    change: (work) => transactWithEvents(transaction, (inside, publish) => work(inside.alerts, publish)),
    hasConsented: async (userId, clientId) => (await stores.consents.find(userId, clientId)) !== undefined,
    requireUpgraded: () => query.keeper.requireUpgraded(),
    audit,
    limits: { perOwner: config.alertsPerUser, total: config.alerts },
    keeping: {
      ...shared,
      keeper: query.keeper,
      countAlerts: () => stores.alerts.count(),
      metrics,
      now: () => ({ wall: clock(), monotonic: performance.now() }),
      mostInstances: config.alertInstances,
      historyMs: config.alertHistory,
      onError,
      sealingKey: masterKey.derive('providers'),
      subscribe: (listener) => bus.subscribe(listener),
      isTermLost: (error) => error instanceof TermLost,
      async disable(channel: Channel) {
        await transactWithEvents(transaction, async (inside, publish) => {
          const found = await inside.channels.find(channel.name)
          if (found === undefined || found.disabled) return
          await inside.channels.put({ ...found, disabled: true })
          await publish({ kind: 'channels-changed' })
        })
        audit.record({ event: 'channel.gone', target: channel.name, details: { status: '410' } })
        logger.warn({ channel: channel.name }, 'the receiver of a channel is gone: the channel was disabled')
      },
      async removeGone(alert: Alert) {
        await transactWithEvents(transaction, async (inside, publish) => {
          await inside.alerts.remove(alert.id)
          await publish({ kind: 'alerts-changed', alert: alert.id })
        })
        audit.record({ event: 'alert.deleted', target: alert.id, details: { name: alert.name } })
      },
    },
  })
}
