/** The entry of the alerts. Loaded when there is one, by the first request about them, or when a channel is tested. */
import type { KeyObject } from 'node:crypto'
import type { ApiRoute } from '../http/openapi.ts'
import type { RouteGroup } from '../http/route.ts'
import { alertGroup } from './http/endpoints.ts'
import { AlertKeeper, type AlertKeeperEnv } from './keep/alert-keeper.ts'
import { Outcomes, type OutcomesEnv } from './outcomes.ts'
import { Browsers, type BrowsersEnv } from './push/browsers.ts'
import { publicKeyText } from './push/vapid.ts'
import { AlertService, type AlertServiceEnv } from './service.ts'

export { type ChannelTestEnv, testChannel } from './channel-test.ts'
export type { PublishToFeed } from './deliver/feed.ts'
export type { AlertMailing } from './deliver/mail.ts'
export { OwnWebhooks } from './deliver/own-webhooks.ts'
export type { OwnerNow, Owners } from './keep/owners.ts'

/** The routes in the OpenAPI document. */
export async function describeRoutes(): Promise<ApiRoute[]> {
  const { describeAlerts } = await import('./http/openapi.ts')
  return describeAlerts()
}

export interface AlertsEnv extends AlertServiceEnv, OutcomesEnv {
  readonly browsers: Omit<BrowsersEnv, 'publicKey'> & { readonly vapidKey: () => Promise<KeyObject> }
  readonly keeping: AlertKeeperEnv
}

export interface Alerts {
  readonly routes: RouteGroup
  readonly keeper: AlertKeeper
}

export function openAlerts(env: AlertsEnv): Alerts {
  const alerts = new AlertService(env)
  const outcomes = new Outcomes(env)
  const { vapidKey } = env.browsers
  const browsers = new Browsers({ ...env.browsers, publicKey: async () => publicKeyText(await vapidKey()) })
  return { routes: alertGroup({ alerts, outcomes, browsers }), keeper: new AlertKeeper(env.keeping) }
}
