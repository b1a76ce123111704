/** How deep a JSON text nests, from the text alone: a value nested too deep could not be serialized again. */

/** False for any text that is too short to be valid JSON of that depth. */
export function isDeeperThan(text: string, limit: number): boolean {
  if (text.length <= 2 * limit) return false
  let depth = 0
  let isInString = false
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (isInString) {
      if (code === BACKSLASH) at++
      else if (code === QUOTE) isInString = false
    } else if (code === QUOTE) isInString = true
    else if (OPENING.has(code)) {
      if (++depth > limit) return true
    } else if (CLOSING.has(code)) depth--
  }
  return false
}

const [QUOTE, BACKSLASH] = [0x22, 0x5c]
const OPENING: ReadonlySet<number> = new Set([0x5b, 0x7b])
const CLOSING: ReadonlySet<number> = new Set([0x5d, 0x7d])
