/** Forms and query strings, read strictly: each parameter once (RFC 6749 §3.1, §3.2). */
import { Refusal } from 'gatehouse-protocol'
import type { Context } from '../context.ts'
import type { BodyRule } from '../route.ts'
import { queryStringOf } from './request-target.ts'

/** The body rule of routes that take forms. */
export const FORM: BodyRule = { limit: 64 * 1024, types: ['application/x-www-form-urlencoded'] }

export interface Parameters {
  /** Empty values count as absent (RFC 6749 §3.1). */
  get(name: string): string | undefined
  /** Names that occur more than once. */
  readonly repeated: ReadonlySet<string>
  names(): Iterable<string>
}

const MOST_PARAMETERS = 200

export function readParameters(encoded: string): Parameters {
  const values = new Map<string, string>()
  const repeated = new Set<string>()
  let count = 0
  for (const [name, value] of new URLSearchParams(encoded)) {
    if (++count > MOST_PARAMETERS) throw new Refusal('invalid_request', 400, `More than ${MOST_PARAMETERS} parameters`)
    // No parameter of a protocol here has one, and PostgreSQL cannot store it.
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

/** The query string of a request, read like a form. */
export function queryParameters({ target }: Pick<Context, 'target'>): Parameters {
  return readParameters(queryStringOf(target))
}

const FORM_TYPE = /^application\/x-www-form-urlencoded\b/i

export function isForm({ headers }: Context): boolean {
  return FORM_TYPE.test(headers['content-type'] ?? '')
}

/** The body of a request, which must be a form. */
export function formParameters(context: Context): Parameters {
  if (!isForm(context)) throw new Refusal('invalid_request', 400, 'The body must be a form')
  return readParameters(String(context.body))
}
