/** Finds a member or an element in the text of a JSON value, and returns its text unchanged. The text must be valid JSON. */

/** Of several members with the same name the last one counts. */
export function findMember(json: string, key: string): string | undefined {
  let found: string | undefined
  forEachChild(json, '{', (text, name) => {
    if (name === key) found = text
  })
  return found
}

export function findItem(json: string, index: bigint): string | undefined {
  let found: string | undefined
  let at = 0n
  forEachChild(json, '[', (text) => {
    if (at === index) found = text
    at++
  })
  return found
}

function forEachChild(json: string, opening: '{' | '[', visit: (text: string, name: string) => void): void {
  let at = skipBlanks(json, 0)
  if (json[at] !== opening) return
  at = skipBlanks(json, at + 1)
  while (at < json.length && json[at] !== '}' && json[at] !== ']') {
    let name = ''
    if (opening === '{') {
      const end = skipText(json, at)
      name = String(JSON.parse(json.slice(at, end)))
      at = skipBlanks(json, skipBlanks(json, end) + 1)
    }
    const end = skipValue(json, at)
    visit(json.slice(at, end), name)
    at = skipBlanks(json, end)
    if (json[at] === ',') at = skipBlanks(json, at + 1)
  }
}

function skipBlanks(json: string, from: number): number {
  let at = from
  while (at < json.length && ' \t\n\r'.includes(json.charAt(at))) at++
  return at
}

function skipText(json: string, from: number): number {
  let at = from + 1
  while (json[at] !== '"') at += json[at] === '\\' ? 2 : 1
  return at + 1
}

function skipValue(json: string, from: number): number {
  const first = json[from]
  if (first === '"') return skipText(json, from)
  if (first !== '{' && first !== '[') {
    let at = from
    while (at < json.length && !',]} \t\n\r'.includes(json.charAt(at))) at++
    return at
  }
  let depth = 0
  for (let at = from; at < json.length; ) {
    const character = json[at]
    if (character === '"') {
      at = skipText(json, at)
      continue
    }
    if (character === '{' || character === '[') depth++
    else if (character === '}' || character === ']') depth--
    at++
    if (depth === 0) return at
  }
  return json.length
}
