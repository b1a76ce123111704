/** The query parameters of lists: known names, each once, and the size of a page. */
import type { QueryValues } from '../../http/request/request-head.ts'
import { refuse } from '../errors.ts'

export const DEFAULT_PAGE = 100
export const MAX_PAGE = 1000

/** Refuses other names than these, names that occur twice, and values with control characters, which no name has. */
export function readListParameters<Name extends string>(
  query: QueryValues,
  names: readonly Name[],
): (name: Name) => string | undefined {
  for (const [name, value] of query) {
    if (!names.some((known) => known === name))
      throw refuse('Request.BadParameter', `Unknown parameter ${name}; the known ones are ${names.join(', ')}`)
    if (typeof value !== 'string') throw refuse('Request.BadParameter', `The parameter ${name} occurs twice`)
    if (/\p{C}/u.test(value)) throw refuse('Request.BadParameter', `The parameter ${name} has a control character`)
  }
  return (name) => {
    const value = query.get(name)
    return typeof value === 'string' ? value : undefined
  }
}

export function readPageSize(text: string | undefined): number {
  if (text === undefined) return DEFAULT_PAGE
  if (!/^\d{1,4}$/.test(text) || Number(text) < 1 || Number(text) > MAX_PAGE)
    throw refuse('Request.BadParameter', `limit must be a number from 1 to ${MAX_PAGE}`)
  return Number(text)
}

/** `true` or `false`; undefined where it is left out. */
export function readFlag(name: string, text: string | undefined): boolean | undefined {
  if (text === undefined) return undefined
  if (text !== 'true' && text !== 'false') throw refuse('Request.BadParameter', `${name} must be true or false`)
  return text === 'true'
}

/** The path of the next page: the same parameters with another `after`. */
export function nextPage(path: string, query: QueryValues, after: string): string {
  const kept = [...query].flatMap(([name, value]) => (typeof value === 'string' ? [[name, value]] : []))
  return `${path}?${new URLSearchParams({ ...Object.fromEntries(kept), after })}`
}
