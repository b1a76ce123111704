/** Names in lists that do not exist, or are there twice, in words. */
import { nearest } from 'gatehouse-protocol'
import type { Fault } from '../schema/check-schema.ts'

/** Finding the nearest name takes time: only the first of many faults in a list get it. */
const MOST_SUGGESTIONS = 10

export function unknownName(what: string, name: string, known: Iterable<string>, before = 0): string {
  const near = before < MOST_SUGGESTIONS ? nearest(name, known) : undefined
  return `unknown ${what} "${name}"${near === undefined ? '' : `; did you mean "${near}"?`}`
}

/** What a list has twice. */
export function repeated(
  list: string,
  items: readonly string[] = [],
  fold: (item: string) => string = (item) => item,
): Fault[] {
  const seen = new Set<string>()
  return items.flatMap((item, index) => {
    if (seen.has(fold(item))) return [{ path: `${list}[${index}]`, text: `"${item}" is listed twice` }]
    seen.add(fold(item))
    return []
  })
}
