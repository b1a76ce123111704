/** Functions on texts. */
import { CatalogueError } from '../catalogue-error.ts'
import { compileRegex } from './regex.ts'
import { parseItems, type Value } from './values.ts'

type Define = (name: string, body: (...args: readonly Value[]) => Value) => void

/** The longest text that a function makes. */
const MAX_TEXT = 1 << 20

export function registerTexts(define: Define): void {
  const onTexts = (name: string, body: (...texts: readonly string[]) => Value): void =>
    define(name, (...args) => (args.some((arg) => arg === null) ? null : body(...args.map(String))))
  onTexts('matches', (text = '', pattern = '', isInsensitive) =>
    Number(compileRegex(pattern, isInsensitive === '1' ? 'i' : '').test(text)),
  )
  onTexts('regexp_replace', (text = '', pattern = '', replacement = '', flags = '') =>
    text.replace(
      compileRegex(pattern, flags),
      replacement
        .replaceAll('$', '$$$$')
        .replaceAll(/\\(\d)/g, '$$$1')
        .replaceAll('\\&', '$$&'),
    ),
  )
  onTexts('regexp_match', (text = '', pattern = '', flags = '') => {
    const found = compileRegex(pattern, flags.replace('g', '')).exec(text)
    return found === null ? null : JSON.stringify(matchedGroups(found))
  })
  onTexts('regexp_matches', (text = '', pattern = '', flags = '') => {
    if (flags.includes('g')) return JSON.stringify([...text.matchAll(compileRegex(pattern, flags))].map(matchedGroups))
    const found = compileRegex(pattern, flags).exec(text)
    return JSON.stringify(found === null ? [] : [matchedGroups(found)])
  })
  onTexts('regexp_split', (text = '', pattern = '') => JSON.stringify(text.split(compileRegex(pattern, ''))))
  onTexts('regexp_substring', (text = '', pattern = '') => {
    const found = compileRegex(pattern, '').exec(text)
    return found === null ? null : (found[1] ?? found[0])
  })
  // Positions before the first character count, as in PostgreSQL.
  define('substr', (text, from, length) => {
    if (text == null || from == null) return null
    const characters = [...String(text)]
    const start = Number(from) - 1
    if (length != null && Number(length) < 0)
      throw new CatalogueError('badValue', 'negative substring length not allowed')
    const end = length == null ? characters.length : start + Number(length)
    return characters.slice(Math.max(0, start), Math.max(0, end)).join('')
  })
  onTexts('split_part', (text = '', separator = '', position = '1') => {
    if (Number(position) === 0) throw new CatalogueError('badValue', 'field position must not be zero')
    const parts = separator === '' ? [text] : text.split(separator)
    return parts.at(at(Number(position))) ?? ''
  })
  onTexts('left', (text = '', count = '0') => [...text].slice(0, Number(count)).join(''))
  onTexts('right', (text = '', count = '0') => {
    const all = [...text]
    return all.slice(Number(count) < 0 ? -Number(count) : Math.max(0, all.length - Number(count))).join('')
  })
  onTexts('reverse', (text = '') => [...text].reverse().join(''))
  onTexts('initcap', (text = '') =>
    text.toLowerCase().replaceAll(/[\p{L}\p{N}]+/gu, (word) => word.charAt(0).toUpperCase() + word.slice(1)),
  )
  onTexts('translate', (text = '', from = '', to = '') =>
    [...text].map((character) => (from.includes(character) ? to.charAt(from.indexOf(character)) : character)).join(''),
  )
  onTexts(
    'repeat',
    (text = '', count = '0') =>
      bounded(text.length * Math.max(0, Number(count))) && text.repeat(Math.max(0, Number(count))),
  )
  onTexts(
    'lpad',
    (text = '', length = '0', fill = ' ') =>
      bounded(Number(length)) && text.padStart(Number(length), fill).slice(0, Math.max(0, Number(length))),
  )
  define('string_to_array', (text, separator, whereNull) => {
    if (text == null) return null
    const parts = separator == null ? [...String(text)] : text === '' ? [] : String(text).split(String(separator))
    return JSON.stringify(parts.map((part) => (whereNull != null && part === whereNull ? null : part)))
  })
  define('join', (value, separator) =>
    value == null || separator == null ? null : (parseItems(value)?.join(String(separator)) ?? null),
  )
}

function matchedGroups(found: RegExpExecArray | RegExpMatchArray): (string | null)[] {
  return found.length > 1 ? found.slice(1).map((group) => group ?? null) : [found[0]]
}

function at(position: number): number {
  return position > 0 ? position - 1 : position
}

function bounded(length: number): true {
  if (length <= MAX_TEXT) return true
  throw new CatalogueError('tooLarge', `A text of the catalogue has at most ${MAX_TEXT} characters`)
}
