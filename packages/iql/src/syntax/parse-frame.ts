/** Parses the frame of a window. */
import type { Frame, FrameBound } from './ast-query.ts'
import type { TokenStream } from './token-stream.ts'

/** Frame = ("ROWS" | "RANGE") (FrameBound | "BETWEEN" FrameBound "AND" FrameBound) */
export function parseFrame(tokens: TokenStream): Frame | undefined {
  const unit = tokens.accepts('rows') ? 'rows' : tokens.accepts('range') ? 'range' : undefined
  if (unit === undefined) return undefined
  if (!tokens.accepts('between')) return { unit, start: parseFrameBound(tokens), end: { kind: 'current-row' } }
  const start = parseFrameBound(tokens)
  tokens.expects('and')
  return { unit, start, end: parseFrameBound(tokens) }
}

/** FrameBound = "UNBOUNDED" ("PRECEDING" | "FOLLOWING") | "CURRENT" "ROW" | Distance ("PRECEDING" | "FOLLOWING") */
function parseFrameBound(tokens: TokenStream): FrameBound {
  if (tokens.accepts('current')) {
    tokens.expects('row')
    return { kind: 'current-row' }
  }
  if (tokens.accepts('unbounded')) {
    if (tokens.accepts('preceding')) return { kind: 'unbounded-preceding' }
    tokens.expects('following')
    return { kind: 'unbounded-following' }
  }
  const distance = parseDistance(tokens)
  if (tokens.accepts('preceding')) return { kind: 'preceding', ...distance }
  tokens.expects('following')
  return { kind: 'following', ...distance }
}

/** Distance = digits | ["INTERVAL"] Text */
function parseDistance(tokens: TokenStream): { rows: number } | { interval: string } {
  if (tokens.accepts('interval') || tokens.token.kind === 'text') return { interval: tokens.text('an interval') }
  tokens.couldBe('an interval')
  return { rows: tokens.wholeNumber('a number of rows') }
}
