/** Texts with backslashes: E'a\nb', as PostgreSQL has them. */

export type ReadEscapes =
  | { readonly text: string /** After the closing quote. */; readonly end: number }
  | { readonly problem: string; readonly at: number /** There is no closing quote. */; readonly isOpen: boolean }

const CONTROLS: ReadonlyMap<string, string> = new Map([
  ['b', '\b'],
  ['f', '\f'],
  ['n', '\n'],
  ['r', '\r'],
  ['t', '\t'],
])

/** Bytes that are not ASCII would have to be put together as UTF-8: \u has their characters. */
const CODES =
  /^(?:u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|x([0-7][0-9a-fA-F]|[0-9a-fA-F](?![0-9a-fA-F]))|([01][0-7]{2}|[0-7]{1,2}))/

/** Reads from after the opening quote. */
export function readEscapes(statement: string, from: number): ReadEscapes {
  let text = ''
  let at = from
  while (at < statement.length) {
    const character = statement.charAt(at)
    if (character === "'") {
      if (statement[at + 1] !== "'") return finish(text, from, at)
      text += "'"
      at += 2
    } else if (character === '\\') {
      const read = readEscape(statement, at + 1)
      if (read === undefined) return { problem: 'This escape is not supported: write \\uXXXX', at, isOpen: false }
      text += read.text
      at += 1 + read.length
    } else {
      text += character
      at += 1
    }
  }
  return { problem: 'The text is never closed', at: from - 2, isOpen: true }
}

function readEscape(statement: string, at: number): { readonly text: string; readonly length: number } | undefined {
  const code = CODES.exec(statement.slice(at, at + 9))
  if (code !== null) {
    const [whole, four, eight, hex, octal = ''] = code
    const point = octal === '' ? Number.parseInt(four ?? eight ?? hex ?? '', 16) : Number.parseInt(octal, 8)
    return point === 0 || point > 0x10ffff ? undefined : { text: String.fromCodePoint(point), length: whole.length }
  }
  const character = statement.charAt(at)
  if (/[uUx0-7]/.test(character)) return undefined
  return { text: CONTROLS.get(character) ?? character, length: 1 }
}

function finish(text: string, from: number, at: number): ReadEscapes {
  if (text.isWellFormed()) return { text, end: at + 1 }
  return { problem: 'A text cannot contain a lone surrogate', at: from - 2, isOpen: false }
}
