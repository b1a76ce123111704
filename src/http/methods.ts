/** Knows which methods an address takes, so that a wrong one is answered with 405 and `Allow` (RFC 9110 §15.5.6). */
import type { FastifyInstance } from 'fastify'

export function allowedMethods(app: FastifyInstance): (url: string) => string[] {
  const routes = new Map<string, { pattern: RegExp; methods: Set<string> }>()
  app.addHook('onRoute', ({ url, method }) => {
    const route = routes.get(url) ?? { pattern: patternOf(url), methods: new Set<string>() }
    // A browser's preflight is no method that a caller would choose.
    for (const name of [method].flat()) if (name !== 'OPTIONS') route.methods.add(name)
    routes.set(url, route)
  })
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
