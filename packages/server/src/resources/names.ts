/** Names that a declaration refers to and that do not exist, in words. */
import { nearest } from 'gatehouse-protocol'

/** Finding the nearest name takes time: only the first of many faults in a list get it. */
const MOST_SUGGESTIONS = 10

export function unknownName(what: string, name: string, known: Iterable<string>, before = 0): string {
  const near = before < MOST_SUGGESTIONS ? nearest(name, known) : undefined
  return `unknown ${what} "${name}"${near === undefined ? '' : `; did you mean "${near}"?`}`
}
