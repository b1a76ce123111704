/** Data as text for a model: one line, nothing invisible, nothing that looks like a line of the server. */

/** Line ends, controls, marks of direction, zero-width and tag characters, halves of surrogates, and what renders as nothing. */
const UNSAFE = /[\\\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu

const SHORT: ReadonlyMap<string, string> = new Map([
  ['\\', '\\\\'],
  ['\n', '\\n'],
  ['\r', '\\r'],
  ['\t', '\\t'],
])

/** Nothing to escape, which is true of most texts. */
const PLAIN = /^[ -[\]-~]*$/

export function escapeText(text: string): string {
  if (PLAIN.test(text)) return text
  return text.replace(UNSAFE, (found) => SHORT.get(found) ?? `\\u{${found.codePointAt(0)?.toString(16)}}`)
}

/** The escapes of the beginning of a text, at most `most` bytes of UTF-8. */
export function escapeWithin(text: string, most: number): string {
  let within = ''
  let left = most
  for (const character of text) {
    const escaped = escapeText(character)
    left -= Buffer.byteLength(escaped)
    if (left < 0) break
    within += escaped
  }
  return within
}

/** The JSON with escapes for what is invisible; its value stays as it is. */
export function escapeJson(json: string): string {
  return json.replace(UNSAFE, (found) => {
    if (found === '\\') return found
    const units = [...Array(found.length).keys()].map((at) => found.charCodeAt(at).toString(16).padStart(4, '0'))
    return units.map((unit) => `\\u${unit}`).join('')
  })
}

/** The beginning of a text, at most `most` bytes of UTF-8; undefined if the text is no longer than that. */
export function cutBytes(text: string, most: number): string | undefined {
  if (text.length * 3 <= most) return undefined
  const bytes = Buffer.from(text)
  if (bytes.length <= most) return undefined
  let end = most
  // Not within a character.
  while (end > 0 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end--
  return bytes.toString('utf8', 0, end)
}

/** A short text of others, such as a description. */
export function shortText(text: string, most = 200): string {
  const characters = [...text]
  return escapeText(characters.length > most ? `${characters.slice(0, most).join('')}…` : text)
}

/** 1 row, 2 rows */
export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`
}
