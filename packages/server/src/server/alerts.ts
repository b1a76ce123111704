/** The alerts in a server: loaded when there is one, or by the first request about them. */

import { type Principal, Refusal } from 'gatehouse-protocol'
import type { ChannelSender } from '../admin/ports.ts'
import type { AlertMailing, Alerts, PublishToFeed } from '../alerts/alerts.ts'
import type { Config } from '../config/config.ts'
import type { Feeds } from '../feeds/feeds.ts'
import type { LazyRouteGroups } from '../http/route.ts'
import { describeBrowser } from '../identity/browser/browser-name.ts'
import type { Identity } from '../identity/identity.ts'
import { lazily } from '../lib/once.ts'
import { retryUntilDone } from '../lib/retry.ts'
import { exceptOutages } from '../lib/unavailable.ts'
import type { Mail } from '../mail/mail.ts'
import { type QueryService, TermLost } from '../query/index.ts'
import type { Alert } from '../store/alerts/alert.ts'
import type { Channel } from '../store/alerts/channels.ts'
import { type EventTransactionEnv, transactWithEvents } from '../store/cluster/event-transaction.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import { alertOwners } from './alert-owners.ts'
import type { Base } from './base.ts'
import type { Resources } from './resources.ts'
import type { Cleanup } from './watch/cleanup.ts'

export interface AlertParts {
  readonly query: QueryService
  readonly identity: Pick<Identity, 'users' | 'clients'>
  readonly metrics: Metrics
  readonly mail: Mail | undefined
  /** Undefined where streaming does not run here. */
  readonly feeds: () => Feeds | undefined
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
  { query, identity, metrics, mail, feeds }: AlertParts,
  onError: (error: unknown) => void,
): Promise<Alerts> {
  const { openAlerts, OwnWebhooks } = await import('../alerts/alerts.ts')
  const { stores, audit, database, masterKey } = resources
  const { users, clients } = identity
  const owners = alertOwners({ users, clients, consents: stores.consents, clock })
  const transaction = { database, clock, receive: bus.receive }
  const vapidKey = lazily(() => stores.pushSubscriptions.vapidKey(masterKey.derive('push')))
  const url = ({ id }: Alert) => (config.console ? `${issuer.replace(/\/$/, '')}/console/alerts/${id}` : '')
  const { alertPrivate: allowPrivate } = config
  const webhookKeys = { key: masterKey.derive('own webhooks'), sealingKey: masterKey.derive('providers') }
  const shared = {
    ownWebhooks: config.alertOwnWebhooks ? new OwnWebhooks({ ...webhookKeys, allowPrivate }) : undefined,
    rows: query.alerts,
    live: query.live,
    owners,
    clock,
    url,
    channels: stores.channels,
    hasMail: mail !== undefined,
    definitions: stores.alerts,
  }
  return openAlerts({
    ...shared,
    change: (work) => transactWithEvents(transaction, (inside, publish) => work(inside.alerts, publish)),
    hasConsented: async (userId, clientId) => (await stores.consents.find(userId, clientId)) !== undefined,
    requireUpgraded: () => query.keeper.requireUpgraded(),
    audit,
    limits: { perOwner: config.alertsPerUser, total: config.alerts },
    browsers: {
      subscriptions: stores.pushSubscriptions,
      vapidKey,
      allowPrivate,
      describeBrowser,
    },
    keeping: {
      ...shared,
      keeper: query.keeper,
      countAlerts: () => stores.alerts.count(),
      metrics,
      now: () => ({ wall: clock(), monotonic: performance.now() }),
      mostInstances: config.alertInstances,
      historyMs: config.alertHistory,
      mail: mail && alertMailing(mail, stores, transaction),
      push: {
        subscriptions: stores.pushSubscriptions,
        vapidKey,
        subject: issuer.startsWith('https:') ? issuer : 'mailto:alerts@localhost',
        allowPrivate,
        clock,
      },
      publish: (feed, message, principal, once) => publishToFeed(feeds(), feed, message, principal, once),
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

function alertMailing({ port }: Mail, stores: Resources['stores'], transaction: EventTransactionEnv): AlertMailing {
  return {
    async findAddress(userId) {
      const user = await stores.users.findById(userId)
      const { email, email_verified: isVerified } = user?.profile ?? {}
      return typeof email === 'string' && email !== '' && isVerified === true ? email : undefined
    },
    queuedSince: (to, since) => stores.mailQueue.queuedSince('alert', to, since),
    async queue(mail) {
      await transactWithEvents(transaction, (inside) => port.alert(inside, mail))
    },
  }
}

async function publishToFeed(
  feeds: Feeds | undefined,
  ...[feed, message, principal, { key, fingerprint }]: Parameters<PublishToFeed>
): Promise<void> {
  if (feeds === undefined) throw new Refusal('feed.unknown', 404, 'The node that delivers has no feeds')
  await feeds.service.publish(feed, [message], principal, { owner: callOwner(principal), key, fingerprint })
}

/** As publishers are called whose keys are unique. */
function callOwner({ kind, subject }: Principal): string {
  return `${kind}:${subject}`
}
