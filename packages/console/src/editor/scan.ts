/** Splits any text into tokens, also one that is being typed and that the lexer would refuse; finds statements and parameters. */
import { DEFINING } from 'gatehouse-iql'

export type SpanKind = 'comment' | 'text' | 'quoted' | 'number' | 'parameter' | 'word' | 'symbol'

export interface Span {
  readonly kind: SpanKind
  readonly from: number
  readonly to: number
  readonly text: string
  /** Of words, in lower case; of symbols, themselves; otherwise empty, as in the lexer. */
  readonly key: string
}

/** The tokens of packages/iql/src/syntax/lexer.ts. A token that is never closed ends with the text. */
const PATTERN =
  /(?<comment>--[^\n]*|\/\*[\s\S]*?(?:\*\/|$))|(?<text>[xX]?'[^']*(?:''[^']*)*(?:'|$))|(?<quoted>"[^"]*(?:""[^"]*)*(?:"|$))|(?<number>(?:\d+(?:\.\d+)?|\.\d+)(?:[eE][+-]?\d+)?)|(?<parameter>:[\p{L}_][\p{L}\p{N}\p{M}_]*|\$\d+)|(?<word>[\p{L}_][\p{L}\p{N}\p{M}_]*)|(?<symbol><>|!=|<=|>=|\|\||\S)/gu

export function scan(text: string): Span[] {
  const spans: Span[] = []
  for (const match of text.matchAll(PATTERN)) {
    const found = match[0]
    const kind = matchedKind(match.groups ?? {})
    const key = kind === 'word' ? found.toLowerCase() : kind === 'symbol' ? found : ''
    spans.push({ kind, from: match.index, to: match.index + found.length, text: found, key })
  }
  return spans
}

const KINDS: readonly SpanKind[] = ['comment', 'text', 'quoted', 'number', 'parameter', 'word']

function matchedKind(groups: Readonly<Record<string, string | undefined>>): SpanKind {
  return KINDS.find((kind) => groups[kind] !== undefined) ?? 'symbol'
}

/** A statement of a text, without the semicolon. */
export interface Part {
  readonly from: number
  readonly to: number
  readonly text: string
}

/** The statements of a text; comments belong to the statement that follows them. */
export function splitStatements(text: string): Part[] {
  const parts: Part[] = []
  let pending: Span[] = []
  const finish = () => {
    const [first, last] = [pending[0], pending.findLast(({ kind }) => kind !== 'comment')]
    if (first !== undefined && last !== undefined)
      parts.push({ from: first.from, to: last.to, text: text.slice(first.from, last.to) })
    pending = []
  }
  for (const span of scan(text)) {
    if (span.key === ';') finish()
    else pending.push(span)
  }
  finish()
  return parts
}

/** The statement that the cursor is in, or that ends before it on its line; otherwise the next one, or the last. */
export function statementAt(text: string, position: number): Part | undefined {
  const parts = splitStatements(text)
  const around = parts.find(({ from, to }) => from <= position && position <= to)
  if (around !== undefined) return around
  const before = parts.findLast(({ to }) => to < position)
  if (before !== undefined && !text.slice(before.to, position).includes('\n')) return before
  return parts.find(({ from }) => from > position) ?? before
}

/** The names of the parameters, without `:` and `$`, each once; names are case-insensitive. */
export function parameterNames(text: string): string[] {
  const names = new Map<string, string>()
  for (const part of splitStatements(text)) {
    const code = scan(part.text).filter(({ kind }) => kind !== 'comment')
    if (DEFINING.has(code[0]?.key ?? '')) continue
    for (const { kind, text: found } of code) {
      const name = found.slice(1)
      if (kind === 'parameter' && !names.has(name.toLowerCase())) names.set(name.toLowerCase(), name)
    }
  }
  return [...names.values()]
}

/** A table that a statement names, with its alias. */
export interface TableUse {
  readonly table: string
  readonly alias: string | undefined
}

const BEFORE_TABLE = new Set('from join into update describe'.split(' '))
const NOT_AN_ALIAS = new Set(
  'as asof cross default except full group having inner intersect join left limit offset on order outer returning right select set union using values where with'.split(
    ' ',
  ),
)

export function findTables(spans: readonly Span[]): TableUse[] {
  const code = spans.filter(({ kind }) => kind !== 'comment')
  return code.flatMap(({ key }, index) => {
    const name = code[index + 1]
    if (!BEFORE_TABLE.has(key) || name === undefined || !isName(name)) return []
    const next = code[index + 2]?.key === 'as' ? code[index + 3] : code[index + 2]
    const alias = next !== undefined && isName(next) && !NOT_AN_ALIAS.has(next.key) ? unquoteName(next) : undefined
    return [{ table: unquoteName(name), alias }]
  })
}

export function isTableExpected(before: Span | undefined): boolean {
  return before !== undefined && (BEFORE_TABLE.has(before.key) || before.key === 'table' || before.key === 'view')
}

export function isName({ kind }: Span): boolean {
  return kind === 'word' || kind === 'quoted'
}

/** Without its quotes. */
export function unquoteName({ kind, text }: Span): string {
  return kind === 'quoted' ? text.replace(/^"|"$/g, '').replaceAll('""', '"') : text
}
