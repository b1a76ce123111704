/** The target of a request (RFC 9112 §3.2): its path below the server's base path, and its query string. */
import { Refusal } from 'gatehouse-protocol'

const LONGEST_TARGET = 8 * 1024

/**
 * The target as origin-form, without the base path of the issuer. A path that is not valid UTF-8, or that contains
 * U+0000, is escaped again, so that it matches nothing and never reaches a database.
 */
export function localTarget(url: string, base: string): string {
  const own = url.startsWith('/') ? url : url.replace(/^https?:\/\/[^/?]*\/?/i, '/')
  const local = base !== '' && isBelow(own, base) ? own.slice(base.length).replace(/^(?!\/)/, '/') : own
  if (!local.includes('%')) return local
  const path = pathOf(local)
  return isText(path) ? local : path.replaceAll('%', '%25') + local.slice(path.length)
}

/** The base path itself is the root. */
function isBelow(target: string, base: string): boolean {
  return target.startsWith(base) && ['/', '?', undefined].includes(target[base.length])
}

export function pathOf(target: string): string {
  const end = target.indexOf('?')
  return end < 0 ? target : target.slice(0, end)
}

/** Without the question mark; empty where there is none. */
export function queryStringOf(target: string): string {
  const start = target.indexOf('?')
  return start < 0 ? '' : target.slice(start + 1)
}

export function checkTargetLength(target: string): void {
  if (target.length > LONGEST_TARGET)
    throw new Refusal('request.url_too_long', 414, `The address is longer than ${LONGEST_TARGET} bytes`)
}

/** The parts of a path, each decoded by itself: an encoded slash separates nothing. */
export function segmentsOf(path: string): readonly string[] {
  const segments = path.split('/')
  return path.includes('%') ? segments.map((segment) => decodeURIComponent(segment)) : segments
}

/** A name that occurs more than once has a list of values. */
export type QueryValues = ReadonlyMap<string, string | readonly string[]>

const NO_VALUES: QueryValues = new Map()

/** Lenient: a value that is badly encoded is taken as it is. `readParameters` is the strict reader for OAuth. */
export function readQuery(target: string): QueryValues {
  const text = queryStringOf(target)
  if (text === '') return NO_VALUES
  const values = new Map<string, string | string[]>()
  for (const pair of text.split('&')) {
    if (pair === '') continue
    const equals = pair.indexOf('=')
    const name = decode(equals < 0 ? pair : pair.slice(0, equals))
    const value = equals < 0 ? '' : decode(pair.slice(equals + 1))
    const previous = values.get(name)
    if (previous === undefined) values.set(name, value)
    else if (typeof previous === 'string') values.set(name, [previous, value])
    else previous.push(value)
  }
  return values
}

function decode(text: string): string {
  if (!/[%+]/.test(text)) return text
  const spaced = text.replaceAll('+', ' ')
  try {
    return decodeURIComponent(spaced)
  } catch {
    return spaced
  }
}

function isText(path: string): boolean {
  try {
    return !decodeURIComponent(path).includes('\0')
  } catch {
    return false
  }
}
