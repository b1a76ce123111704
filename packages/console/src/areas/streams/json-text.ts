/** Parts of a JSON text as they are written, so that numbers keep all their digits. The text must be valid JSON. */

/** The values of an object, by their names. */
export function memberTexts(text: string): ReadonlyMap<string, string> {
  return new Map(
    splitJson(text).map((part) => {
      const [name = '""'] = /^"(?:[^"\\]|\\.)*"/.exec(part) ?? []
      return [String(JSON.parse(name)), part.slice(part.indexOf(':', name.length) + 1).trim()]
    }),
  )
}

/** The items of an array. */
export function itemTexts(text: string): readonly string[] {
  return splitJson(text)
}

/** What commas separate between the outermost brackets. */
function splitJson(text: string): string[] {
  const parts: string[] = []
  let depth = 0
  let start = 0
  for (const { 0: piece, index } of text.matchAll(/"(?:[^"\\]|\\.)*"|[{}[\],]/g)) {
    if (piece === '{' || piece === '[') {
      if (depth === 0) start = index + 1
      depth++
    } else if (piece === '}' || piece === ']') {
      depth--
      if (depth === 0) parts.push(text.slice(start, index).trim())
    } else if (piece === ',' && depth === 1) {
      parts.push(text.slice(start, index).trim())
      start = index + 1
    }
  }
  return parts.filter((part) => part !== '')
}
