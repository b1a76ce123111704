/** How streams say that a licence is missing. */
import type { Refusal } from './refusal.ts'

const REASONS = new Map([
  ['Licence.Places', 'places'],
  ['Licence.Displaced', 'displaced'],
  ['Licence.NotReady', 'not_ready'],
])

/** The context of the error `Authority`, such as `licence=NYSE.L1 reason=expired`. */
export function licenceContext({ code, details: { members = {} } }: Refusal): string {
  const products = Array.isArray(members.Products) ? members.Products.join(',') : ''
  return `licence=${products} reason=${REASONS.get(code) ?? String(members.Reason)}`
}
