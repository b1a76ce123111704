/** Limits the length of parameters that are stored while a person signs in or out, because anyone can send such a request. */
import { refuse } from './authorization-error.ts'
import type { RequestParameters } from './request.ts'

/** In bytes. Others are bounded by their own checks: registered URIs, known words, the length of `scope`. */
const LONGEST = { state: 4096, nonce: 1024, claims: 4096, acr_values: 1024 } as const
const LONGEST_HINT = 200

export function refuseTooLong(parameters: RequestParameters): void {
  for (const name of ['state', 'nonce', 'claims', 'acr_values'] as const)
    if (isTooLong(name, parameters)) throw refuse('invalid_request', `${name} is longer than ${LONGEST[name]} bytes`)
}

/** As it is stored: a control character takes six bytes of JSON. `claims` is JSON already. */
export function isTooLong(name: keyof typeof LONGEST, parameters: RequestParameters): boolean {
  const value = parameters.get(name)
  if (value === undefined || value.length * 6 <= LONGEST[name]) return false
  return Buffer.byteLength(name === 'claims' ? value : JSON.stringify(value).slice(1, -1)) > LONGEST[name]
}

/** A long hint is cut off, not refused. */
export function readHint(name: 'login_hint' | 'ui_locales', parameters: RequestParameters): string | undefined {
  return parameters.get(name)?.slice(0, LONGEST_HINT)
}
