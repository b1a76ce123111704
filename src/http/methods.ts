/** Knows which methods an address takes, so that a wrong one is answered with 405 and `Allow` (RFC 9110 §15.5.6). */
import type { FastifyInstance } from 'fastify'

/** Of the routes of the application, and of those that are answered `beside` it. */
export function allowedMethods(
  app: FastifyInstance,
  beside: readonly { readonly method: string; readonly path: string }[],
): (url: string) => string[] {
  const routes = new Map<string, { pattern: RegExp; methods: Set<string> }>()
  const add = (url: string, method: string | readonly string[]): void => {
    const route = routes.get(url) ?? { pattern: patternOf(url), methods: new Set<string>() }
    // A browser's preflight is no method that a caller would choose.
    for (const name of [method].flat()) if (name !== 'OPTIONS') route.methods.add(name)
    routes.set(url, route)
  }
  for (const { path, method } of beside) add(path, method)
  app.addHook('onRoute', ({ url, method }) => add(url, method))
  return (url) => {
    const path = url.split('?', 1)[0] ?? ''
    const methods = new Set<string>()
    for (const route of routes.values()) {
      if (route.pattern.test(path)) for (const name of route.methods) methods.add(name)
    }
    return [...methods].sort()
  }
}

function patternOf(url: string): RegExp {
  const source = url
    .split('/')
    .map((part) => (part.startsWith(':') ? '[^/]+' : part === '*' ? '.*' : part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')))
    .join('/')
  return new RegExp(`^${source}$`, 'i')
}
