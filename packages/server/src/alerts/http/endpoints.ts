/** `/alerts`: the alerts of the caller over HTTP. */
import type { Context } from '../../http/context.ts'
import type { Route, RouteGroup } from '../../http/route.ts'
import { mergePatch } from '../../lib/merge-patch.ts'
import {
  nextPage,
  readListParameters,
  readPageSize,
  readWholeJson,
  refuse,
  replyToError,
  requirePlatformAccess,
} from '../../query/index.ts'
import { declareAlert } from '../../resources/alert-shape.ts'
import type { Outcomes } from '../outcomes.ts'
import type { Browsers } from '../push/browsers.ts'
import { type AlertCaller, type AlertService, alertEtag, type ShownAlert } from '../service.ts'
import { readAlert, readBody, readDelivery, readSilence } from './body.ts'
import { presentAlert } from './present.ts'

const BODY = { limit: 256 * 1024, types: ['application/json', 'application/merge-patch+json'] }

export interface EndpointsEnv {
  readonly alerts: AlertService
  readonly outcomes: Outcomes
  readonly browsers: Browsers
}

export function alertGroup({ alerts, outcomes, browsers }: EndpointsEnv): RouteGroup {
  const route = (method: Route['method'], path: string, handle: Route['handle']): Route => ({
    method,
    path: `/alerts${path}`,
    ...(method === 'POST' || method === 'PATCH' ? { body: BODY } : {}),
    access: requirePlatformAccess,
    handle,
  })
  return {
    at: ['/alerts'],
    limit: 'query',
    headers: { 'cache-control': 'no-store' },
    fail: replyToError,
    routes: [
      route('GET', '', async (context) => {
        const text = readListParameters(context.query, ['after', 'limit'])
        const limit = readPageSize(text('limit'))
        const items = await alerts.list(toCaller(context), { after: text('after') ?? '', limit })
        const last = items.length === limit ? items.at(-1) : undefined
        context.json({
          items: items.map((shown) => presentAlert(shown)),
          next: last === undefined ? null : nextPage('/alerts', context.query, last.alert.name),
        })
      }),
      route('POST', '', async (context) => {
        const created = await alerts.create(toCaller(context), readAlert(readBody(readWholeJson(context))))
        context.setHeader('location', `/alerts/${created.alert.id}`)
        await reply(context, created, outcomes, 201)
      }),
      route('GET', '/channels', async (context) => {
        context.json({ items: await outcomes.channels(context.principal), own_webhooks: outcomes.hasOwnWebhooks })
      }),
      route('POST', '/webhooks', async (context) => {
        const { url } = readBody(readWholeJson(context))
        context.json(outcomes.showWebhook(context.principal, typeof url === 'string' ? url : ''))
      }),
      route('GET', '/push', async (context) => {
        context.json(await browsers.list(context.principal))
      }),
      route('POST', '/push', async (context) => {
        const body = readBody(readWholeJson(context))
        context.json(await browsers.add(context.principal, body, context.headers['user-agent'] ?? ''), 201)
      }),
      route('DELETE', '/push/:browser', async (context) => {
        await browsers.remove(context.principal, context.param('browser'))
        context.end(204)
      }),
      route('GET', '/:alert', async (context) => {
        await reply(context, await alerts.get(toCaller(context), context.param('alert')), outcomes)
      }),
      route('PATCH', '/:alert', async (context) => {
        const version = readMatch(context)
        if (version === undefined)
          throw refuse('Alert.MatchRequired', 'Send If-Match with the ETag that you have read, or *')
        const patch = readBody(readWholeJson(context))
        const changed = await alerts.change(
          toCaller(context),
          context.param('alert'),
          version === '*' ? undefined : version,
          ({ name, definition }) => readAlert(mergePatch(declareAlert(name, definition), patch)),
        )
        await reply(context, changed, outcomes)
      }),
      route('DELETE', '/:alert', async (context) => {
        const version = readMatch(context)
        await alerts.remove(toCaller(context), context.param('alert'), version === '*' ? undefined : version)
        context.end(204)
      }),
      route('POST', '/:alert/silence', async (context) => {
        const { alert } = await alerts.get(toCaller(context), context.param('alert'))
        await outcomes.silence(alert, readSilence(readWholeJson(context)))
        await alerts.touched(alert.id)
        await reply(context, await alerts.get(toCaller(context), alert.id), outcomes)
      }),
      route('DELETE', '/:alert/silence', async (context) => {
        const { alert } = await alerts.get(toCaller(context), context.param('alert'))
        const text = readListParameters(context.query, ['key'])
        await outcomes.unsilence(alert, text('key'))
        await alerts.touched(alert.id)
        context.end(204)
      }),
      route('POST', '/:alert/test', async (context) => {
        const { alert } = await alerts.get(toCaller(context), context.param('alert'))
        const items = await outcomes.test(alert)
        await alerts.touched(alert.id)
        context.json({ items }, 202)
      }),
      route('GET', '/:alert/history', async (context) => {
        const { alert } = await alerts.get(toCaller(context), context.param('alert'))
        const text = readListParameters(context.query, ['after', 'limit'])
        const limit = readPageSize(text('limit'))
        const { items, last } = await outcomes.history(alert, text('after'), limit)
        context.json({ items, next: nextOf(`/alerts/${alert.id}/history`, context, last) })
      }),
      route('GET', '/:alert/deliveries', async (context) => {
        const { alert } = await alerts.get(toCaller(context), context.param('alert'))
        const text = readListParameters(context.query, ['after', 'limit'])
        const limit = readPageSize(text('limit'))
        const { items, last } = await outcomes.deliveries(alert, text('after'), limit)
        context.json({ items, next: nextOf(`/alerts/${alert.id}/deliveries`, context, last) })
      }),
      route('POST', '/:alert/deliveries/:delivery/retry', async (context) => {
        const { alert } = await alerts.get(toCaller(context), context.param('alert'))
        const delivery = await outcomes.retry(alert, readDelivery(context.param('delivery')))
        await alerts.touched(alert.id)
        context.json(delivery, 202)
      }),
    ],
  }
}

function toCaller({ principal, address, id }: Context): AlertCaller {
  return { principal, address, requestId: id }
}

async function reply(context: Context, shown: ShownAlert, outcomes: Outcomes, status = 200): Promise<void> {
  context.setHeader('etag', alertEtag(shown.alert))
  context.json({ ...presentAlert(shown), ...(await outcomes.details(shown.alert)) }, status)
}

function nextOf(path: string, { query }: Context, last: string | undefined): string | null {
  return last === undefined ? null : nextPage(path, query, last)
}

/** No stored version matches anything that is not one of our tags (RFC 9110 §13.1.1). */
const NO_VERSION = 0

function readMatch({ headers }: Context): number | '*' | undefined {
  const text = headers['if-match']?.trim()
  if (text === undefined || text === '*') return text
  return Number(/^"([1-9]\d{0,14})"$/.exec(text)?.[1] ?? NO_VERSION)
}
