/** Takes the answer to the client, good or bad, in the mode that the request calls for. */
import type { Target } from './request.ts'

export type Delivery =
  | { readonly kind: 'redirect'; readonly url: string }
  | { readonly kind: 'form'; readonly action: string; readonly parameters: Readonly<Record<string, string>> }

export type Answer = Readonly<Record<string, string | undefined>>

/** RFC 9207: `iss` goes with every answer, so that a client of several servers knows whose it is. */
export function deliver(target: Target, issuer: string, answer: Answer): Delivery {
  const parameters: Record<string, string> = {}
  for (const [name, value] of Object.entries({ ...answer, state: target.state, iss: issuer })) {
    if (value !== undefined) parameters[name] = value
  }
  if (target.mode === 'form_post') return { kind: 'form', action: target.redirectUri, parameters }
  return { kind: 'redirect', url: addParameters(target.redirectUri, parameters, target.mode) }
}

/** The registered address stays as it is, character by character. */
export function addParameters(
  uri: string,
  parameters: Readonly<Record<string, string>>,
  place: 'query' | 'fragment',
): string {
  const encoded = Object.entries(parameters)
    .map(([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(value)}`)
    .join('&')
  if (encoded === '') return uri
  if (place === 'fragment') return `${uri}#${encoded}`
  return `${uri}${uri.includes('?') ? (/[?&]$/.test(uri) ? '' : '&') : '?'}${encoded}`
}
