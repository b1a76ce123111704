/** application/x-www-form-urlencoded bodies and queries, read strictly: each parameter once, no surprises (RFC 6749 §3.1, §3.2). */
import type { FastifyInstance } from 'fastify'
import { Refusal } from '../protocol/refusal.ts'

export interface Parameters {
  /** Empty values count as absent (RFC 6749 §3.1). */
  get(name: string): string | undefined
  /** Names that came more than once. */
  readonly repeated: ReadonlySet<string>
  names(): Iterable<string>
}

const MOST_PARAMETERS = 200

/** Lets the routes of this scope take forms; the body arrives as Parameters. */
export function acceptForms(app: FastifyInstance, bodyLimit?: number): void {
  app.addContentTypeParser(
    'application/x-www-form-urlencoded',
    { parseAs: 'string', ...(bodyLimit === undefined ? {} : { bodyLimit }) },
    // With a callback: a promise would cost every request.
    (_request: unknown, body: string | Buffer, done: (error: Error | null, form?: Parameters) => void) => {
      try {
        done(null, readParameters(String(body)))
      } catch (error) {
        done(error instanceof Error ? error : new Error(String(error)))
      }
    },
  )
}

export function readParameters(encoded: string): Parameters {
  const values = new Map<string, string>()
  const repeated = new Set<string>()
  let count = 0
  for (const [name, value] of new URLSearchParams(encoded)) {
    if (++count > MOST_PARAMETERS) throw new Refusal('invalid_request', 400, `More than ${MOST_PARAMETERS} parameters`)
    // No parameter of any protocol here has one, and PostgreSQL stores none.
    if (name.includes('\0') || value.includes('\0'))
      throw new Refusal('invalid_request', 400, 'A parameter holds the character U+0000')
    if (values.has(name)) repeated.add(name)
    else values.set(name, value)
  }
  return {
    get: (name) => values.get(name) || undefined,
    repeated,
    names: () => values.keys(),
  }
}

/** The query of a request as parameters. */
export function queryParameters({ url }: { readonly url: string }): Parameters {
  return readParameters(queryOf(url))
}

/** The form that a request brought; one without is refused. */
export function formParameters({ body }: { readonly body: unknown }): Parameters {
  if (!isParameters(body)) throw new Refusal('invalid_request', 400, 'The body must be a form')
  return body
}

/** Whether the body of a request came as a form; routes that take forms may be sent none. */
export function isParameters(body: unknown): body is Parameters {
  return typeof body === 'object' && body !== null && 'repeated' in body && 'get' in body
}

/** The query of a raw request address; never mixed with a body. */
export function queryOf(url: string): string {
  const start = url.indexOf('?')
  return start < 0 ? '' : url.slice(start + 1)
}
