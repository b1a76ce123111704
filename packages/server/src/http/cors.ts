/** Cross-origin requests of browsers (Fetch §3.2): a route group names the origins whose pages may call it, without cookies. */
import type { Context } from './context.ts'

/** `*` if public; otherwise a function that says whether pages of an origin may call. */
export type CorsPolicy = '*' | ((origin: string) => Promise<boolean>)

const METHODS: readonly string[] = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE']
const REQUEST_HEADERS = [
  'Authorization',
  'Content-Type',
  'DPoP',
  'Idempotency-Key',
  'If-Match',
  'Last-Event-ID',
  'MCP-Protocol-Version',
  'Mcp-Method',
  'Mcp-Name',
  'Request-Id',
  'traceparent',
  'tracestate',
  'x-fapi-interaction-id',
].join(', ')
/** In addition to those that every page may read. `Date` lets a page compute how far its clock is off. */
export const EXPOSED_HEADERS: readonly string[] = [
  'Date',
  'DPoP-Nonce',
  'ETag',
  'Licence',
  'Location',
  'RateLimit',
  'RateLimit-Policy',
  'Request-Id',
  'Retry-After',
  'traceresponse',
  'WWW-Authenticate',
  'x-fapi-interaction-id',
]
const EXPOSED = EXPOSED_HEADERS.join(', ')
/** The longest time that Chromium caches a preflight. A page of an origin that is no longer allowed cannot read the reply anyway. */
const PREFLIGHT_SECONDS = 7200

/** On every reply, errors included: a page that may call must also see what went wrong. */
export function setCorsHeaders(context: Context, policy: CorsPolicy): void | Promise<void> {
  const { origin } = context.headers
  if (policy === '*') allow(context, '*')
  else if (origin !== undefined)
    return policy(origin).then((isAllowed) => {
      if (isAllowed) allow(context, origin)
    })
}

function allow(context: Context, origin: string): void {
  context.setHeader('access-control-allow-origin', origin)
  context.setHeader('access-control-expose-headers', EXPOSED)
}

/**
 * An origin that is not allowed gets the same reply without the headers that would let its page call. Preflights for paths
 * that do not exist are answered too, so that a page sees the 404 of its request instead of a failed preflight.
 */
export function answerPreflight(context: Context, methods: readonly string[] = METHODS): void {
  if (context.hasHeader('access-control-allow-origin')) {
    context.setHeader('access-control-allow-methods', methods.join(', '))
    context.setHeader('access-control-allow-headers', REQUEST_HEADERS)
    context.setHeader('access-control-max-age', String(PREFLIGHT_SECONDS))
  }
  context.end(204)
}
