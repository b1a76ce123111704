/** The languages that a client prefers (RFC 9110 §12.5.4). */
import { byQuality } from './accept.ts'

const MAX_PREFERENCES = 20
const LONGEST_HEADER = 500

/** Language tags, most preferred first: those that were asked for, then those of Accept-Language. */
export function preferredLanguages(asked: readonly string[], acceptLanguage: string | undefined): readonly string[] {
  const accepted = byQuality((acceptLanguage ?? '').slice(0, LONGEST_HEADER)).map(({ value }) => value)
  return [...asked, ...accepted].slice(0, MAX_PREFERENCES).map((tag) => tag.trim())
}

/** The language of a tag, without script and region. */
export function primaryLanguage(tag: string): string {
  return tag.toLowerCase().split('-', 1)[0] ?? ''
}
