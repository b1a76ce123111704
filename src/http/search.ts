/** Reads the query of an address: names and values as a form has them. */

/** A name that stands more than once has all its values. */
export type SearchValues = ReadonlyMap<string, string | readonly string[]>

const NONE: SearchValues = new Map()

export function readSearch(url: string): SearchValues {
  const start = url.indexOf('?')
  if (start < 0) return NONE
  const values = new Map<string, string | string[]>()
  for (const pair of url.slice(start + 1).split('&')) {
    if (pair === '') continue
    const equals = pair.indexOf('=')
    const name = decode(equals < 0 ? pair : pair.slice(0, equals))
    const value = equals < 0 ? '' : decode(pair.slice(equals + 1))
    const before = values.get(name)
    if (before === undefined) values.set(name, value)
    else if (typeof before === 'string') values.set(name, [before, value])
    else before.push(value)
  }
  return values
}

const CODED = /[%+]/

/** What is badly encoded stands for itself. */
function decode(text: string): string {
  if (!CODED.test(text)) return text
  const spaced = text.replaceAll('+', ' ')
  try {
    return decodeURIComponent(spaced)
  } catch {
    return spaced
  }
}
