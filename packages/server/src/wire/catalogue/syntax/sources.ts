/** Finds the tables that a statement reads, by its tokens alone and in one pass. */
import type { Token } from './lexer.ts'

export interface Sources {
  /** The paths after FROM and JOIN, without functions and subqueries. */
  readonly tables: readonly (readonly string[])[]
  /** The names of WITH queries. */
  readonly ctes: ReadonlySet<string>
}

/** What is inside one pair of parentheses. */
interface Frame {
  /** `worded`: the arguments of extract(… FROM …) and the like. */
  clause: 'other' | 'from' | 'with' | 'worded'
  /** A source is next in `from`, a name in `with`. */
  isNameNext: boolean
}

export function findSources(tokens: readonly Token[]): Sources {
  const tables: (readonly string[])[] = []
  const ctes = new Set<string>()
  const outer: Frame[] = []
  let frame: Frame = { clause: 'other', isNameNext: false }
  for (let index = 0; index < tokens.length; index++) {
    const { kind, key, text } = tokens[index] ?? END
    if (key === '(') {
      outer.push(frame)
      const isSource = frame.clause === 'from' && frame.isNameNext
      frame.isNameNext = false
      frame = openFrame(isSource, tokens[index - 1])
    } else if (key === ')') frame = outer.pop() ?? { clause: 'other', isNameNext: false }
    else if (key === ',') frame.isNameNext = frame.clause === 'from' || frame.clause === 'with'
    else if (key === 'from' || key === 'join') {
      if (!isClause(frame, key, tokens, index)) continue
      frame.clause = 'from'
      frame.isNameNext = true
    } else if (key === 'with') {
      if (NO_QUERIES.has(tokens[index + 1]?.key ?? '')) continue
      frame.clause = 'with'
      frame.isNameNext = true
    } else if (CLAUSES.has(key)) {
      frame.clause = 'other'
      frame.isNameNext = false
    } else if (frame.isNameNext && (kind === 'word' || kind === 'quoted') && !BEFORE_NAMES.has(key)) {
      frame.isNameNext = false
      if (frame.clause === 'with') ctes.add(text)
      else {
        const path = readPath(tokens, index)
        index += 2 * (path.length - 1)
        if (tokens[index + 1]?.key !== '(') tables.push(path)
      }
    }
  }
  return { tables, ctes }
}

const END: Token = { kind: 'end', text: '', key: '', at: 0 }
const WORDED: ReadonlySet<string> = new Set(['substring', 'position', 'trim', 'extract', 'overlay'])
/** What begins a query or ends FROM. */
const CLAUSES: ReadonlySet<string> = new Set(
  'select values where group having window union intersect except order limit offset fetch for returning'.split(' '),
)
const BEFORE_NAMES: ReadonlySet<string> = new Set(['lateral', 'only', 'recursive'])
/** WITH ORDINALITY, WITH TIME ZONE. */
const NO_QUERIES: ReadonlySet<string> = new Set(['ordinality', 'time'])

/** In the place of a source, parentheses hold a join until a word says that they hold a query. */
function openFrame(isSource: boolean, before: Token | undefined): Frame {
  if (isSource) return { clause: 'from', isNameNext: true }
  return { clause: WORDED.has(before?.key ?? '') ? 'worded' : 'other', isNameNext: false }
}

function isClause(frame: Frame, key: 'from' | 'join', tokens: readonly Token[], index: number): boolean {
  if (frame.clause === 'worded') return false
  if (key === 'join' || tokens[index - 1]?.key !== 'distinct') return true
  const before = tokens[index - 2]?.key
  return before !== 'is' && before !== 'not'
}

function readPath(tokens: readonly Token[], index: number): string[] {
  const path = [tokens[index]?.text ?? '']
  for (let dot = index + 1; tokens[dot]?.key === '.'; dot += 2) path.push(tokens[dot + 1]?.text ?? '')
  return path
}
