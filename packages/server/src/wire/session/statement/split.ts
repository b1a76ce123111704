/** Splits the text of a Query into its statements, without parsing them: quotes and comments hide a semicolon. */

export interface StatementText {
  readonly text: string
  /** Where it begins in the whole text. */
  readonly offset: number
}

/** Texts of comments and white space alone are left out. */
export function splitStatements(text: string): readonly StatementText[] {
  // Most texts are one statement.
  const semicolon = text.indexOf(';')
  if (semicolon === -1 || semicolon === text.length - 1) {
    const only = semicolon === -1 ? text : text.slice(0, -1)
    if (!only.includes('--') && !only.includes('/*')) return only.trim() === '' ? [] : [{ text: only, offset: 0 }]
  }
  const statements: StatementText[] = []
  let start = 0
  let isEmpty = true
  let at = 0
  const end = (): void => {
    if (!isEmpty) statements.push({ text: text.slice(start, at), offset: start })
    start = at + 1
    isEmpty = true
  }
  while (at < text.length) {
    const skipped = skipBlank(text, at)
    if (skipped > at) {
      at = skipped
      continue
    }
    if (text[at] === ';') {
      end()
      at++
      continue
    }
    isEmpty = false
    at = skipToken(text, at)
  }
  end()
  return statements
}

/** The end of the white space or the comment at this place; the place itself if there is none. */
export function skipBlank(text: string, at: number): number {
  const code = text.charCodeAt(at)
  if (code === HYPHEN && text.charCodeAt(at + 1) === HYPHEN) {
    const line = text.indexOf('\n', at)
    return line === -1 ? text.length : line + 1
  }
  if (code === SLASH && text.charCodeAt(at + 1) === STAR) return skipComment(text, at)
  if (code <= MAX_ASCII) {
    let end = at
    while (isSpace(text.charCodeAt(end))) end++
    return end
  }
  SPACES.lastIndex = at
  return SPACES.test(text) ? SPACES.lastIndex : at
}

/** Of ASCII. */
function isSpace(code: number): boolean {
  return code === SPACE || (code >= 0x09 && code <= 0x0d)
}

const SPACES = /\s+/y
const [SPACE, STAR, HYPHEN, SLASH, MAX_ASCII] = [0x20, 0x2a, 0x2d, 0x2f, 0x7f]

/** Comments nest, as in PostgreSQL. */
function skipComment(text: string, at: number): number {
  let depth = 0
  for (let place = at; place < text.length; place++) {
    if (text.startsWith('/*', place)) {
      depth++
      place++
    } else if (text.startsWith('*/', place)) {
      depth--
      place++
      if (depth === 0) return place + 1
    }
  }
  return text.length
}

/** The end of the quoted text, the word or the character at this place. */
export function skipToken(text: string, at: number): number {
  const code = text.charCodeAt(at)
  if (code === QUOTE) return closing(text, at, "'", false)
  if (code === DOUBLE_QUOTE) return closing(text, at, '"', false)
  if (code === DOLLAR_SIGN) return skipDollar(text, at)
  if (isSymbol(code) || (code > MAX_ASCII && !/[\p{L}_]/u.test(text[at] ?? ''))) return at + 1
  const after = wordEnd(text, at)
  const isEscape = after === at + 1 && text.charCodeAt(after) === QUOTE && (code | CASE_BIT) === LETTER_E
  return isEscape ? closing(text, after, "'", true) : after
}

function wordEnd(text: string, at: number): number {
  let end = at
  while (isWordCharacter(text.charCodeAt(end))) end++
  if (!(text.charCodeAt(end) > MAX_ASCII)) return end
  WORD.lastIndex = at
  return WORD.test(text) ? WORD.lastIndex : at + 1
}

/** Of ASCII. */
function isWordCharacter(code: number): boolean {
  return code <= MAX_ASCII && (!isSymbol(code) || (code >= 0x30 && code <= 0x39) || code === DOLLAR_SIGN)
}

/** ASCII that begins no word. */
function isSymbol(code: number): boolean {
  return code < 0x41 || (code > 0x5a && code < 0x61 && code !== UNDERSCORE) || (code > 0x7a && code <= MAX_ASCII)
}

const [DOUBLE_QUOTE, DOLLAR_SIGN, QUOTE, UNDERSCORE, LETTER_E, CASE_BIT] = [0x22, 0x24, 0x27, 0x5f, 0x65, 0x20]
const WORD = /[\p{L}\p{N}_$]+/uy

function closing(text: string, at: number, quote: string, hasEscapes: boolean): number {
  if (!hasEscapes) {
    let end = text.indexOf(quote, at + 1)
    while (end !== -1 && text[end + 1] === quote) end = text.indexOf(quote, end + 2)
    return end === -1 ? text.length : end + 1
  }
  for (let place = at + 1; place < text.length; place++) {
    if (text[place] === '\\') place++
    else if (text[place] === quote) {
      if (text[place + 1] !== quote) return place + 1
      place++
    }
  }
  return text.length
}

/** $$…$$ or $tag$…$tag$; anything else is one character. */
function skipDollar(text: string, at: number): number {
  DOLLAR.lastIndex = at
  const tag = DOLLAR.exec(text)?.[0]
  if (tag === undefined) return at + 1
  const end = text.indexOf(tag, at + tag.length)
  return end === -1 ? text.length : end + tag.length
}

const DOLLAR = /\$(?:[\p{L}_][\p{L}\p{N}_]*)?\$/uy

/** A word in lower case, a quoted text or name, a number or a character. */
export interface CommandToken {
  readonly kind: 'word' | 'name' | 'text' | 'number' | 'symbol'
  readonly text: string
  readonly at: number
  readonly end: number
}

/** The first token of a command from this place on, after white space and comments. */
export function tokenAt(text: string, from: number): CommandToken | undefined {
  let at = from
  for (let skipped = skipBlank(text, at); skipped > at; skipped = skipBlank(text, at)) at = skipped
  if (at >= text.length) return undefined
  const end = numberEnd(text, at) ?? skipToken(text, at)
  return { ...readToken(text.slice(at, end)), at, end }
}

const NUMBER = /[+-]?\d[\w.]*/y

function numberEnd(text: string, at: number): number | undefined {
  NUMBER.lastIndex = at
  const number = NUMBER.exec(text)?.[0]
  return number === undefined ? undefined : at + number.length
}

function readToken(text: string): Pick<CommandToken, 'kind' | 'text'> {
  const first = text[0] ?? ''
  if (first === '"') return { kind: 'name', text: text.slice(1, -1).replaceAll('""', '"') }
  if (first === "'") return { kind: 'text', text: text.slice(1, -1).replaceAll("''", "'") }
  if (/^e'/i.test(text)) return { kind: 'text', text: unescaped(text.slice(2, -1)) }
  if (/^[+-]?\d/.test(text)) return { kind: 'number', text }
  if (/^[\p{L}_]/u.test(first)) return { kind: 'word', text: text.toLowerCase() }
  return { kind: 'symbol', text }
}

const ESCAPES: ReadonlyMap<string, string> = new Map([
  ['b', '\b'],
  ['f', '\f'],
  ['n', '\n'],
  ['r', '\r'],
  ['t', '\t'],
])

/** Of E'…'. */
function unescaped(text: string): string {
  return text.replace(/\\x([0-9a-f]{1,2})|\\(.)|''/gi, (whole, hex?: string, character?: string) => {
    if (hex !== undefined) return String.fromCharCode(Number.parseInt(hex, 16))
    return character === undefined ? whole.slice(1) : (ESCAPES.get(character) ?? character)
  })
}
