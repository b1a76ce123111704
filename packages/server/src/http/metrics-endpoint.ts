/** `/metrics` for Prometheus: on a separate port without a token, or on the main port with a scope. */
import type { Route } from './route.ts'

export function metricsRoute(render: () => string | Promise<string>, access?: Route['access']): Route {
  return {
    method: 'GET',
    path: '/metrics',
    isProbe: true,
    ...(access === undefined ? {} : { access }),
    async handle(context) {
      const text = await render()
      context.setHeader('cache-control', 'no-store')
      context.send('text/plain; version=0.0.4; charset=utf-8', text)
    },
  }
}
