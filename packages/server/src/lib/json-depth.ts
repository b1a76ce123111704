/** How deep a JSON text nests, from the text alone: a value nested too deep could not be serialized again. */
import { endOfString } from './exact-json.ts'

/** False for any text that is too short to be valid JSON of that depth. */
export function isDeeperThan(text: string, limit: number): boolean {
  if (text.length <= 2 * limit) return false
  let depth = 0
  for (let at = 0; at < text.length; at++) {
    switch (text.charCodeAt(at)) {
      case QUOTE:
        at = endOfString(text, at)
        break
      case OPEN_LIST:
      case OPEN_OBJECT:
        if (++depth > limit) return true
        break
      case CLOSE_LIST:
      case CLOSE_OBJECT:
        depth--
    }
  }
  return false
}

const [QUOTE, OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [0x22, 0x5b, 0x5d, 0x7b, 0x7d]
