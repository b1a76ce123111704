/** Matches patterns of LIKE, of any length and without backtracking: the first place where a piece fits is always good enough. */
import { LruMap } from '../../../../lib/lru-map.ts'
import { iqlError } from '../../runtime-error.ts'

/** The characters between two %; null is _, which stands for any one character. */
type Piece = { readonly text: string } | { readonly characters: readonly (string | null)[] }

export interface LikePattern {
  matches(text: string): boolean
}

const PATTERNS = new LruMap<LikePattern>(100)
const MAX_CACHED_LENGTH = 1000

export function likePattern(pattern: string, escapeText: string): LikePattern {
  if (pattern.length > MAX_CACHED_LENGTH) return compile(pattern, escapeText)
  const key = `${escapeText}\u0000${pattern}`
  let compiled = PATTERNS.get(key)
  if (compiled === undefined) {
    compiled = compile(pattern, escapeText)
    PATTERNS.set(key, compiled)
  }
  return compiled
}

function compile(pattern: string, escapeText: string): LikePattern {
  const pieces = splitPattern(pattern, escapeText)
  const [first, ...rest] = pieces
  const last = rest.pop()
  if (first === undefined) return { matches: (text) => text === '' }
  if (last === undefined) return { matches: (text) => matchEnd(first, text, 0) === text.length }
  return {
    matches(text) {
      let at = matchEnd(first, text, 0)
      for (const piece of rest) {
        if (at === -1) return false
        at = find(piece, text, at)
      }
      if (at === -1) return false
      const start = lastStart(last, text)
      return start >= at && matchEnd(last, text, start) === text.length
    },
  }
}

function splitPattern(pattern: string, escapeText: string): Piece[] {
  const pieces: Piece[] = []
  let characters: (string | null)[] = []
  let escaped = false
  const finish = (): void => {
    pieces.push(characters.includes(null) ? { characters } : { text: characters.join('') })
    characters = []
  }
  for (const character of pattern) {
    if (escaped) {
      characters.push(character)
      escaped = false
    } else if (character === escapeText) escaped = true
    else if (character === '%') finish()
    else characters.push(character === '_' ? null : character)
  }
  if (escaped) throw iqlError('BadValue', 'The pattern of LIKE ends with its escape character')
  finish()
  return pieces
}

/** The end of the piece if it is at this place of the text; -1 if it is not. */
function matchEnd(piece: Piece, text: string, from: number): number {
  if ('text' in piece) return text.startsWith(piece.text, from) ? from + piece.text.length : -1
  let at = from
  for (const character of piece.characters) {
    const found = text.codePointAt(at)
    if (found === undefined || (character !== null && character.codePointAt(0) !== found)) return -1
    at += found > 0xffff ? 2 : 1
  }
  return at
}

/** The end of the first such piece from this place on; -1 if there is none. */
function find(piece: Piece, text: string, from: number): number {
  if ('text' in piece) {
    const at = text.indexOf(piece.text, from)
    return at === -1 ? -1 : at + piece.text.length
  }
  for (let at = from; at <= text.length; at += (text.codePointAt(at) ?? 0) > 0xffff ? 2 : 1) {
    const end = matchEnd(piece, text, at)
    if (end !== -1) return end
  }
  return -1
}

/** Where the piece would start if it were the end of the text; -1 if the text is too short. */
function lastStart(piece: Piece, text: string): number {
  if ('text' in piece) return text.length - piece.text.length
  let at = text.length
  for (let count = piece.characters.length; count > 0; count--) {
    if (at === 0) return -1
    const low = text.charCodeAt(at - 1)
    at -= low >= 0xdc00 && low <= 0xdfff ? 2 : 1
  }
  return at
}
