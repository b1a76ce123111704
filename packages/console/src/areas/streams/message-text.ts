/** The text of a message, as the inspector shows it. */

/** A token that is shown could be copied or photographed. */
export function withoutTokens(raw: string): string {
  return raw.replace(/("(?:AccessToken|Proof)"\s*:\s*")[^"]*"/g, '$1…"')
}

/** The beginning of the data of a message; its other members have separate columns. */
export function beginningOfData(text: string): string {
  const at = text.indexOf('"Data":')
  return (at === -1 ? text : text.slice(at + 7).replace(/\}$/, '')).slice(0, 300)
}

/** With one member per line; what is not JSON stays as it is, and all digits of numbers are kept. */
export function pretty(text: string): string {
  let depth = 0
  let shown = ''
  try {
    JSON.parse(text)
  } catch {
    return text
  }
  for (const [piece] of text.matchAll(/"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+/g)) {
    if (piece === '}' || piece === ']') {
      depth--
      shown += /[{[]$/.test(shown) ? piece : `\n${'  '.repeat(depth)}${piece}`
      continue
    }
    if (/[{[,]$/.test(shown)) shown += `\n${'  '.repeat(depth)}`
    shown += piece === ':' ? ': ' : piece
    if (piece === '{' || piece === '[') depth++
  }
  return shown
}
