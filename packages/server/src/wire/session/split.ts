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
  const character = text[at]
  if (character === '-' && text[at + 1] === '-') {
    const line = text.indexOf('\n', at)
    return line === -1 ? text.length : line + 1
  }
  if (character === '/' && text[at + 1] === '*') return skipComment(text, at)
  return character !== undefined && /\s/.test(character) ? at + 1 : at
}

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
function skipToken(text: string, at: number): number {
  const character = text[at] ?? ''
  if (character === "'" || character === '"') return closing(text, at, character, false)
  if (character === '$') return skipDollar(text, at)
  if (!/[\p{L}_]/u.test(character)) return at + 1
  WORD.lastIndex = at
  const word = WORD.exec(text)?.[0] ?? character
  const after = at + word.length
  const isEscape = text[after] === "'" && word.toLowerCase() === 'e'
  return isEscape ? closing(text, after, "'", true) : after
}

const WORD = /[\p{L}\p{N}_$]+/uy

function closing(text: string, at: number, quote: string, hasEscapes: boolean): number {
  for (let place = at + 1; place < text.length; place++) {
    if (hasEscapes && text[place] === '\\') place++
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

/** The tokens of a command of the session. */
export function commandTokens(text: string): readonly CommandToken[] {
  const tokens: CommandToken[] = []
  let at = 0
  while (at < text.length) {
    const skipped = skipBlank(text, at)
    if (skipped > at) {
      at = skipped
      continue
    }
    const end = numberEnd(text, at) ?? skipToken(text, at)
    tokens.push({ ...tokenOf(text.slice(at, end)), at, end })
    at = end
  }
  return tokens
}

const NUMBER = /[+-]?\d[\w.]*/y

function numberEnd(text: string, at: number): number | undefined {
  NUMBER.lastIndex = at
  const number = NUMBER.exec(text)?.[0]
  return number === undefined ? undefined : at + number.length
}

function tokenOf(text: string): Pick<CommandToken, 'kind' | 'text'> {
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
