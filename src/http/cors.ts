/** Cross-origin requests of browsers (Fetch §3.2): a route group names the origins that may call it, without cookies. */
import type { Context } from './context.ts'

export interface CorsPolicy {
  isAllowed(origin: string): Promise<boolean>
  readonly requestHeaders: readonly string[]
  readonly exposedHeaders: readonly string[]
}

const PREFLIGHT_SECONDS = 600

/** On every reply, errors included: a page that may call must also see what went wrong. */
export async function setCorsHeaders(context: Context, policy: CorsPolicy, origin: string): Promise<void> {
  context.setHeader('vary', 'Origin')
  if (!(await policy.isAllowed(origin))) return
  context.setHeader('access-control-allow-origin', origin)
  context.setHeader('access-control-expose-headers', policy.exposedHeaders.join(', '))
}

/** An origin that is not allowed gets the same reply without the headers that would let its page call. */
export function answerPreflight(context: Context, policy: CorsPolicy, methods: readonly string[]): void {
  if (context.hasHeader('access-control-allow-origin')) {
    context.setHeader('access-control-allow-methods', methods.join(', '))
    context.setHeader('access-control-allow-headers', policy.requestHeaders.join(', '))
    context.setHeader('access-control-max-age', String(PREFLIGHT_SECONDS))
  }
  context.end(204)
}
