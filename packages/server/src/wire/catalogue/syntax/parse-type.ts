/** Parses the names of types. */
import type { TypeName } from './ast.ts'
import type { TokenStream } from './token-stream.ts'

/** Type = Name {"." Name} ["(" number {"," number} ")"] {"[" [number] "]"}, or one of two words. */
export function parseType(tokens: TokenStream): TypeName {
  const { at } = tokens
  const isQuoted = tokens.token.kind === 'quoted'
  const path = tokens.path()
  const isExact = isQuoted || path.length > 1
  const [only] = path
  if (path.length === 1 && only === 'double') tokens.accepts('precision')
  if (path.length === 1 && only === 'character' && tokens.accepts('varying')) path[0] = 'varchar'
  if (tokens.accepts('(')) {
    tokens.list((list) => list.take())
    tokens.expects(')')
  }
  if (tokens.accepts('with', 'time', 'zone')) path[0] = `${only}tz`
  else tokens.accepts('without', 'time', 'zone')
  let isArray = tokens.accepts('array')
  while (tokens.accepts('[')) {
    isArray = true
    if (tokens.token.kind === 'number') tokens.take()
    tokens.expects(']')
  }
  return { path, isExact, isArray, at }
}
