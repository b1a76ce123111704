/** `/healthz` says that the process answers, `/readyz` that it should be sent requests. */
import { Refusal } from 'gatehouse-protocol'
import type { Context } from './context.ts'
import type { Route } from './route.ts'

/** Undefined when the part is ready, otherwise what is wrong in a few words. */
export type ReadinessCheck = () => Promise<string | undefined>

/** Probes time out after a second or more. A check that hangs must not delay the reply: the reply names it instead. */
const LONGEST_CHECK_MS = 800

export interface Readiness {
  readonly status: 'ok' | 'unavailable'
  /** `ok`, `excluded`, or what is wrong, by the name of the part. */
  readonly checks: Readonly<Record<string, string>>
}

/** Without the checks that the caller excludes: a database that all nodes share is no reason to send requests to another node. */
export type ReadReadiness = (excluded?: ReadonlySet<string>) => Promise<Readiness>

/** The names that `/readyz?exclude=…` takes. The process itself is always checked. */
const EXCLUDABLE: ReadonlySet<string> = new Set(['database', 'query', 'installation'])
const NONE: ReadonlySet<string> = new Set()

export function createReadiness(checks: Readonly<Record<string, ReadinessCheck>>): ReadReadiness {
  const bounded = Object.entries(checks).map(([name, check]) => [name, inTime(check)] as const)
  return async (excluded = NONE) => {
    const results = await Promise.all(
      bounded.map(
        async ([name, check]) => [name, excluded.has(name) ? 'excluded' : ((await check()) ?? 'ok')] as const,
      ),
    )
    const isReady = results.every(([, state]) => state === 'ok' || state === 'excluded')
    return { status: isReady ? 'ok' : 'unavailable', checks: Object.fromEntries(results) }
  }
}

export function healthRoutes(readiness: ReadReadiness): readonly Route[] {
  return [
    { method: 'GET', path: '/healthz', isProbe: true, handle: (context) => reply(context, { status: 'ok' }) },
    {
      method: 'GET',
      path: '/readyz',
      isProbe: true,
      async handle(context) {
        const found = await readiness(excludedIn(context.query.get('exclude')))
        reply(context, found, found.status === 'ok' ? 200 : 503)
      },
    },
  ]
}

/** As the readiness of Kubernetes itself takes them: `exclude=database&exclude=query`. */
function excludedIn(value: string | readonly string[] | undefined): ReadonlySet<string> {
  if (value === undefined) return NONE
  const names = typeof value === 'string' ? [value] : value
  const unknown = names.find((name) => !EXCLUDABLE.has(name))
  // A probe with a mistake must not pass for one that checks what it should.
  if (unknown !== undefined)
    throw new Refusal('http.bad_request', 400, `exclude must be one of ${[...EXCLUDABLE].join(', ')}`)
  return new Set(names)
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
