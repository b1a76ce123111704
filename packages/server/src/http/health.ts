/** `/healthz` says that the process answers, `/readyz` that it should be sent requests. */
import type { Context } from './context.ts'
import type { Route } from './route.ts'

/** Undefined when the part is ready, otherwise what is wrong in a few words. */
export type ReadinessCheck = () => Promise<string | undefined>

/** Probes time out after a second or more. A check that hangs must not delay the reply: the reply names it instead. */
const LONGEST_CHECK_MS = 800

export interface Readiness {
  readonly status: 'ok' | 'unavailable'
  /** `ok`, or what is wrong, by the name of the part. */
  readonly checks: Readonly<Record<string, string>>
}

export function createReadiness(checks: Readonly<Record<string, ReadinessCheck>>): () => Promise<Readiness> {
  const bounded = Object.entries(checks).map(([name, check]) => [name, inTime(check)] as const)
  return async () => {
    const results = await Promise.all(bounded.map(async ([name, check]) => [name, (await check()) ?? 'ok'] as const))
    const isReady = results.every(([, state]) => state === 'ok')
    return { status: isReady ? 'ok' : 'unavailable', checks: Object.fromEntries(results) }
  }
}

export function healthRoutes(readiness: () => Promise<Readiness>): readonly Route[] {
  return [
    { method: 'GET', path: '/healthz', isProbe: true, handle: (context) => reply(context, { status: 'ok' }) },
    {
      method: 'GET',
      path: '/readyz',
      isProbe: true,
      async handle(context) {
        const found = await readiness()
        reply(context, found, found.status === 'ok' ? 200 : 503)
      },
    },
  ]
}

/** Requests that come during a check share it, so that they cannot pile up behind a part that hangs. */
function inTime(check: ReadinessCheck): ReadinessCheck {
  let running: Promise<string | undefined> | undefined
  return () => {
    running ??= check()
      .catch(() => 'failed')
      .finally(() => {
        running = undefined
      })
    const result = running
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, LONGEST_CHECK_MS, 'no answer')
      void result.then((state) => {
        clearTimeout(timer)
        resolve(state)
      })
    })
  }
}

function reply(context: Context, body: object, status = 200): void {
  context.setHeader('cache-control', 'no-store')
  context.json(body, status)
}
