/** Finds values in JSON text as they are written, so that their numbers keep every digit. */
import { endOfString, unexpected } from './exact-json.ts'

/** The text of a member of the object, the last one of that name; undefined if it has none. The text must be valid JSON. */
export function memberText(text: string, name: string): string | undefined {
  let found: string | undefined
  let at = text.indexOf('{') + 1
  for (;;) {
    const key = text.indexOf('"', at)
    if (key < 0) return found
    const keyEnd = endOfString(text, key)
    const start = skipSpace(text, text.indexOf(':', keyEnd + 1) + 1)
    const end = endOfValue(text, start)
    if (isKey(text.slice(key, keyEnd + 1), name)) found = text.slice(start, end)
    at = skipSpace(text, end)
    if (text[at] !== ',') return found
    at++
  }
}

/** The text of each item of an array. Throws a SyntaxError where one does not follow the other; the items themselves may not be JSON. */
export function* itemTexts(text: string): Generator<string> {
  let at = skipSpace(text, 0)
  if (text[at] !== '[') throw unexpected(text, at)
  at = skipSpace(text, at + 1)
  if (text[at] !== ']')
    for (;;) {
      const end = endOfValue(text, at)
      if (end === at) throw unexpected(text, at)
      yield text.slice(at, end)
      at = skipSpace(text, end)
      if (text[at] === ']') break
      if (text[at] !== ',') throw unexpected(text, at)
      at = skipSpace(text, at + 1)
    }
  at = skipSpace(text, at + 1)
  if (at < text.length) throw unexpected(text, at)
}

function isKey(written: string, name: string): boolean {
  return written === `"${name}"` || (written.includes('\\') && JSON.parse(written) === name)
}

function endOfValue(text: string, start: number): number {
  const first = text[start]
  if (first === '"') return endOfString(text, start) + 1
  if (first !== '{' && first !== '[') {
    let at = start
    while (at < text.length && !ENDS.has(text.charCodeAt(at))) at++
    return at
  }
  let depth = 0
  for (let at = start; at < text.length; at++) {
    switch (text.charCodeAt(at)) {
      case QUOTE:
        at = endOfString(text, at)
        break
      case OPEN_OBJECT:
      case OPEN_LIST:
        depth++
        break
      case CLOSE_OBJECT:
      case CLOSE_LIST:
        if (--depth === 0) return at + 1
    }
  }
  return text.length
}

const QUOTE = 0x22
const [OPEN_OBJECT, CLOSE_OBJECT, OPEN_LIST, CLOSE_LIST] = [0x7b, 0x7d, 0x5b, 0x5d]
const SPACES: readonly number[] = [0x20, 0x0a, 0x0d, 0x09]
/** After a number or a word. */
const ENDS: ReadonlySet<number> = new Set([...SPACES, 0x2c, CLOSE_OBJECT, CLOSE_LIST])

function skipSpace(text: string, start: number): number {
  let at = start
  while (SPACES.includes(text.charCodeAt(at))) at++
  return at
}
