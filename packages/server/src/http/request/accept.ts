/** Reads the header fields with which a client states what it prefers (RFC 9110 §12.4.2). */
import type { Context } from '../context.ts'

export interface Preference {
  /** In lower case. */
  readonly value: string
  readonly quality: number
}

/** What the client accepts, most preferred first, without what it refuses by `q=0`. */
export function byQuality(header: string): Preference[] {
  return header
    .split(',')
    .map((item) => {
      const [value = '', ...parameters] = item.split(';').map((part) => part.trim().toLowerCase())
      const quality = parameters.find((parameter) => parameter.startsWith('q='))
      return { value, quality: quality === undefined ? 1 : Number(quality.slice(2)) || 0 }
    })
    .filter(({ quality }) => quality > 0)
    .sort((a, b) => b.quality - a.quality)
}

/**
 * Whether a person will read the reply: the client names text/html and does not prefer JSON. Scripts accept anything and get what
 * programs get. So do clients with a token, because a browser sends none when it opens a page.
 */
export function prefersHtml({ headers }: Pick<Context, 'headers'>): boolean {
  const { accept, authorization } = headers
  if (accept === undefined || authorization !== undefined) return false
  const named = byQuality(accept).map(({ value }) => value)
  const html = named.indexOf('text/html')
  const json = named.findIndex((value) => /^application\/(.+\+)?json$/.test(value))
  return html >= 0 && (json < 0 || html < json)
}

const MAX_PREFERENCES = 20
const LONGEST_HEADER = 500

/** Language tags (RFC 9110 §12.5.4), most preferred first: those that were asked for, then those of Accept-Language. */
export function preferredLanguages(asked: readonly string[], acceptLanguage: string | undefined): readonly string[] {
  const accepted = byQuality((acceptLanguage ?? '').slice(0, LONGEST_HEADER)).map(({ value }) => value)
  return [...asked, ...accepted].slice(0, MAX_PREFERENCES).map((tag) => tag.trim())
}

/** The language of a tag, without script and region. */
export function primaryLanguage(tag: string): string {
  return tag.toLowerCase().split('-', 1)[0] ?? ''
}
