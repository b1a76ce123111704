/** The address of a request, as the application and what answers before it read it. */
import { Refusal } from '../protocol/refusal.ts'

export const URL_LIMIT = 8 * 1024

export function checkLength(url: string): void {
  if (url.length > URL_LIMIT)
    throw new Refusal('request.url_too_long', 414, `The address is longer than ${URL_LIMIT} bytes`)
}

/** A path that is no text, or holds U+0000, stands for itself: nothing has such a name, and no database is asked for it. */
export function readable(url: string): string {
  if (!url.includes('%')) return url
  const query = url.indexOf('?')
  const path = query < 0 ? url : url.slice(0, query)
  return isText(path) ? url : path.replaceAll('%', '%25') + url.slice(path.length)
}

function isText(path: string): boolean {
  try {
    return !decodeURIComponent(path).includes('\0')
  } catch {
    return false
  }
}
