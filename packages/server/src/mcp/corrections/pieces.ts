/** A statement in pieces, also one that the parser refuses, and the parts that corrections move and replace. */

export interface Piece {
  readonly text: string
  /** In lower case; quotes are part of it. */
  readonly key: string
  readonly at: number
  readonly end: number
  /** How many parentheses are open. */
  readonly depth: number
}

const PIECE =
  /'[^']*'|"[^"]*"|`[^`]*`|--[^\n]*|\d+(?:\.\d+)?|[\p{L}_][\p{L}\p{N}_]*|[:$][\p{L}\p{N}_]+|<>|!=|<=|>=|==|\|\||::|&&|!~|\S/gu

export function splitPieces(statement: string): readonly Piece[] {
  const pieces: Piece[] = []
  let depth = 0
  for (const { 0: text, index: at } of statement.matchAll(PIECE)) {
    if (text.startsWith('--')) continue
    if (text === ')') depth--
    pieces.push({ text, key: text.toLowerCase(), at, end: at + text.length, depth })
    if (text === '(') depth++
  }
  return pieces
}

/** A run of pieces, both ends included. */
export interface Span {
  readonly first: number
  readonly last: number
}

/** The call whose name has this index, and what is between its commas. */
export interface CallParts extends Span {
  readonly name: string
  readonly args: readonly string[]
}

const NAME = /^[\p{L}_"`]/u
/** Words in front of which an alias, an operand or a clause ends. */
const CLAUSES = ['where', 'group', 'having', 'qualify', 'window', 'order', 'limit', 'offset', 'fetch', 'for', 'sample']
const SETS = ['union', 'except', 'intersect', 'minus']
const JOINS = ['join', 'inner', 'left', 'right', 'full', 'cross', 'asof', 'natural', 'latest', 'on', 'using']
const ENDS_CLAUSE: ReadonlySet<string> = new Set([...CLAUSES, ...SETS, ';'])
const BEFORE_TABLE: ReadonlySet<string> = new Set(['from', 'join', 'into', 'update', 'table', 'describe', 'summarize'])
const NO_ALIAS: ReadonlySet<string> = new Set([...ENDS_CLAUSE, ...JOINS, ',', ')', 'set', 'select'])

export class Pieces {
  readonly statement: string
  readonly all: readonly Piece[]

  constructor(statement: string) {
    this.statement = statement
    this.all = splitPieces(statement)
  }

  /** The piece at an offset, or the last one before it. */
  indexAt(offset: number): number {
    const after = this.all.findIndex(({ at }) => at > offset)
    return (after === -1 ? this.all.length : after) - 1
  }

  key(index: number): string {
    return this.all[index]?.key ?? ''
  }

  text({ first, last }: Span): string {
    return this.statement.slice(this.all[first]?.at, this.all[last]?.end)
  }

  replace({ first, last }: Span, text: string): string {
    const { statement, all } = this
    return statement.slice(0, all[first]?.at) + text + statement.slice(all[last]?.end)
  }

  /** Several replacements at once, which do not overlap. */
  replaceAll(changes: readonly { readonly span: Span; readonly text: string }[]): string {
    let result = this.statement
    for (const { span, text } of changes.toSorted((one, other) => other.span.first - one.span.first))
      result = result.slice(0, this.all[span.first]?.at) + text + result.slice(this.all[span.last]?.end)
    return result.replaceAll(/ {2,}/g, ' ').trim()
  }

  remove(span: Span): string {
    return this.replaceAll([{ span, text: '' }])
  }

  /** Behind everything. */
  append(text: string): string {
    return `${trimStatement(this.statement)} ${text}`
  }

  /** In front of the first of these clauses of the same query, or behind it. */
  insertBefore(index: number, clauses: readonly string[], text: string): string {
    const at = this.#findInQuery(index, (key) => clauses.includes(key) || SETS.includes(key) || key === ';')
    if (at === this.all.length) return this.append(text)
    const offset = this.all[at]?.at
    return `${this.statement.slice(0, offset).trimEnd()} ${text} ${this.statement.slice(offset)}`.trimEnd()
  }

  /** From the keyword to the last piece of its clause. */
  clause(keyword: number): Span {
    return { first: keyword, last: this.#findInQuery(keyword + 1, (key) => ENDS_CLAUSE.has(key)) - 1 }
  }

  /** The next word of the same query, behind an index; -1 if there is none. */
  findKeyword(from: number, keyword: string): number {
    const found = this.#findInQuery(from, (key) => key === keyword)
    return this.key(found) === keyword ? found : -1
  }

  /** The last one in front of an index that is of the same query. */
  findKeywordBefore(from: number, keyword: string): number {
    const { depth = 0 } = this.all[from] ?? {}
    for (let index = from; index >= 0; index--) {
      const piece = this.all[index]
      if (piece?.key === keyword && piece.depth <= depth) return index
    }
    return -1
  }

  #findInQuery(from: number, isWanted: (key: string) => boolean): number {
    const { depth = 0 } = this.all[Math.min(from, this.all.length - 1)] ?? {}
    for (let index = from; index < this.all.length; index++) {
      const piece = this.all[index]
      if (piece === undefined || piece.depth < depth) return index
      if (piece.depth === depth && isWanted(piece.key)) return index
    }
    return this.all.length
  }

  call(index: number): CallParts | undefined {
    if (this.key(index + 1) !== '(') return undefined
    const last = this.close(index + 1)
    if (last === undefined) return undefined
    const args = this.split({ first: index + 2, last: last - 1 }, ',')
    return { name: this.key(index), first: index, last, args: args.map((span) => this.text(span)) }
  }

  /** The index of the parenthesis that closes one. */
  close(open: number): number | undefined {
    const { depth } = this.all[open] ?? {}
    const found = this.all.findIndex((piece, index) => index > open && piece.key === ')' && piece.depth === depth)
    return found === -1 ? undefined : found
  }

  /** Between the separators that are not within parentheses. */
  split({ first, last }: Span, separator: string): readonly Span[] {
    const spans: Span[] = []
    const { depth } = this.all[first] ?? {}
    let start = first
    let isBetween = false
    for (let index = first; index <= last; index++) {
      const piece = this.all[index]
      if (piece?.depth === depth && piece?.key === 'between') isBetween = true
      if (piece?.key !== separator || piece.depth !== depth) continue
      if (isBetween && separator === 'and') {
        isBetween = false
        continue
      }
      if (index > start) spans.push({ first: start, last: index - 1 })
      start = index + 1
    }
    return start > last ? spans : [...spans, { first: start, last }]
  }

  /** What an operator is followed by: a name, a call, a literal, or something in parentheses. */
  operandAfter(operator: number): Span {
    const first = operator + 1
    if (this.key(first) === 'interval') return { first, last: first + 1 }
    let last = first
    if (this.key(first) !== '(') while (this.key(last + 1) === '.' && NAME.test(this.key(last + 2))) last += 2
    if (this.key(first) === '(') last = this.close(first) ?? first
    else if (this.key(last + 1) === '(' && NAME.test(this.key(last))) last = this.close(last + 1) ?? last
    while (this.key(last + 1) === '::') last += 2
    return { first, last }
  }

  operandBefore(operator: number): Span {
    const last = operator - 1
    let first = last
    if (this.key(last) === ')') {
      const { depth } = this.all[last] ?? {}
      while (first > 0 && !(this.key(first) === '(' && this.all[first]?.depth === depth)) first--
      if (NAME.test(this.key(first - 1)) && !NO_ALIAS.has(this.key(first - 1))) first--
    } else if (this.key(last - 1) === '::') first = last - 2
    while (this.key(first - 1) === '.') first -= 2
    return { first, last }
  }

  /** The tables that the statement names, with their aliases. */
  sources(): readonly { readonly name: string; readonly alias: string }[] {
    const found: { name: string; alias: string }[] = []
    let isFrom = false
    for (const [index, { key }] of this.all.entries()) {
      if (key === 'from') isFrom = true
      if (ENDS_CLAUSE.has(key) || key === 'on' || key === ')') isFrom = false
      if (!BEFORE_TABLE.has(key) && !(isFrom && key === ',')) continue
      const at = this.key(index + 2) === '.' ? index + 3 : index + 1
      const name = unquote(this.all[at]?.text ?? '')
      if (!NAME.test(this.key(at))) continue
      const next = this.key(at + 1) === 'as' ? at + 2 : at + 1
      const alias = NAME.test(this.key(next)) && !NO_ALIAS.has(this.key(next)) ? this.all[next]?.text : undefined
      found.push({ name, alias: unquote(alias ?? name) })
    }
    return found
  }
}

export function unquote(text: string): string {
  return /^["'`]/.test(text) ? text.slice(1, -1) : text
}

/** Without semicolons and spaces at its end. */
export function trimStatement(statement: string): string {
  let end = statement.length
  while (end > 0 && /[\s;]/.test(statement.charAt(end - 1))) end--
  return statement.slice(0, end)
}
