/** `/metrics` for Prometheus: on a separate port, with a fixed token or none, or on the main port with a scope. */
import { requireFixedToken } from './request/authentication.ts'
import type { Route } from './route.ts'

export interface MetricsAccess {
  readonly access?: Route['access']
  /** Empty: none is needed. */
  readonly token?: string
}

export function metricsRoute(
  render: () => string | Promise<string>,
  { access, token = '' }: MetricsAccess = {},
): Route {
  return {
    method: 'GET',
    path: '/metrics',
    isProbe: true,
    ...(access === undefined ? {} : { access }),
    async handle(context) {
      if (token !== '') requireFixedToken(context, token)
      const text = await render()
      context.setHeader('cache-control', 'no-store')
      context.send('text/plain; version=0.0.4; charset=utf-8', text)
    },
  }
}
