/** Parses the names of types: IQL's own, and PostgreSQL's, of which some have several words. */
import type { Name, TypeRef } from './ast-query.ts'
import type { TokenStream } from './token-stream.ts'

/**
 * Type = ["pg_catalog" "."] (Name | "DOUBLE" "PRECISION" | "CHARACTER" "VARYING") ["(" digits ["," digits] ")"] [Zoned]
 */
export function parseType(tokens: TokenStream): TypeRef {
  const first = parseFirstWord(tokens)
  const second = SECOND_WORDS.get(first.text.toLowerCase())
  const name = second !== undefined && tokens.accepts(second) ? { ...first, text: `${first.text} ${second}` } : first
  const digits = tokens.accepts('(') ? tokens.closing(parseDigits(tokens)) : []
  const zone = parseZoned(tokens, name)
  return zone === undefined ? { name, arguments: digits } : { name: { ...name, text: zone }, arguments: digits }
}

/** PostgreSQL's types of texts with at most n characters. */
export const LIMITED_TEXTS: ReadonlySet<string> = new Set(['varchar', 'character varying'])

/** The second words of types that have two. */
const SECOND_WORDS: ReadonlyMap<string, string> = new Map([
  ['double', 'precision'],
  ['character', 'varying'],
])

/** Some drivers write pg_catalog before PostgreSQL's types. */
function parseFirstWord(tokens: TokenStream): Name {
  const name = tokens.name('a type')
  if (name.text !== 'pg_catalog' || tokens.token.key !== '.') return name
  tokens.take()
  return tokens.name('a type')
}

function parseDigits(tokens: TokenStream): number[] {
  const first = tokens.wholeNumber('a number of digits')
  return tokens.accepts(',') ? [first, tokens.wholeNumber('a number of digits')] : [first]
}

/**
 * Zoned = ("WITH" | "WITHOUT") "TIME" "ZONE"
 *
 * After TIMESTAMP and TIME. The name of the type with these words; undefined if they do not follow.
 */
export function parseZoned(tokens: TokenStream, { text }: Name): string | undefined {
  const word = text.toLowerCase()
  const { key } = tokens.token
  if ((word !== 'timestamp' && word !== 'time') || (key !== 'with' && key !== 'without')) return undefined
  if (tokens.ahead(1).key !== 'time') return undefined
  tokens.take()
  tokens.take()
  tokens.expects('zone')
  return `${word} ${key} time zone`
}
