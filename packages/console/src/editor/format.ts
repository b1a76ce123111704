/** Lays out statements: a line for each clause, sub-queries indented, keywords in one case. Comments stay. */
import { RESERVED, RESERVED_FUNCTIONS } from 'gatehouse-iql'
import { type Span, scan } from './scan.ts'

/** A clause that is longer has a line for each of its items or conditions. */
const WIDTH = 80
const INDENT = '  '

/** The text unchanged if the layout would mean something else. */
export function format(text: string): string {
  const spans = scan(text)
  const isUpper = prefersUpper(spans)
  const statements: Span[][] = [[]]
  for (const span of spans) {
    if (span.key === ';') statements.push([])
    else statements.at(-1)?.push(span)
  }
  const laidOut = statements.map((statement) => layOut(nest(statement.values(), isUpper), ''))
  const isEnded = laidOut.at(-1) === ''
  const formatted = laidOut.filter((statement, index) => statement !== '' || index < laidOut.length - 1).join(';\n\n')
  const result = isEnded && laidOut.length > 1 ? `${formatted};` : formatted
  return isSame(spans, scan(result)) ? `${result}\n` : text
}

function isSame(a: readonly Span[], b: readonly Span[]): boolean {
  const meaning = ({ kind, key, text }: Span) => `${kind} ${key || text.trimEnd()}`
  return a.length === b.length && a.every((span, index) => meaning(span) === meaning(b[index] as Span))
}

/** As most of the keywords are written. */
function prefersUpper(spans: readonly Span[]): boolean {
  const words = spans.filter(({ key }) => RESERVED.has(key))
  return words.filter(({ text }) => text === text.toUpperCase()).length * 2 > words.length
}

/** A token, or the content of parentheses. */
type Node =
  | { readonly kind: 'token'; readonly text: string; readonly key: string; readonly isLineComment: boolean }
  | { readonly kind: 'group'; readonly nodes: readonly Node[] }

const ALSO_KEYWORDS = new Set(['asc', 'desc', 'over', 'partition'])

function nest(spans: Iterator<Span>, isUpper: boolean): Node[] {
  const nodes: Node[] = []
  for (let next = spans.next(); !next.done; next = spans.next()) {
    const { key, text } = next.value
    if (key === ')') break
    if (key === '(') {
      nodes.push({ kind: 'group', nodes: nest(spans, isUpper) })
      continue
    }
    const isKeyword = RESERVED.has(key) || ALSO_KEYWORDS.has(key) || (nodes.length === 0 && STARTS.has(key))
    const isKept = !isKeyword || RESERVED_FUNCTIONS.has(key)
    const shown = isKept ? text : isUpper ? text.toUpperCase() : text.toLowerCase()
    nodes.push({ kind: 'token', text: shown, key, isLineComment: text.startsWith('--') })
  }
  return nodes
}

const STARTS = new Set('alter create delete describe drop explain insert select show update with'.split(' '))
const CLAUSES = new Set(
  'select from where group having order limit offset union intersect except set values returning'.split(' '),
)
/** Words that stay together. */
const PHRASES = new Set('delete from,distinct from,columns from,explain select,live select'.split(','))
const JOIN_WORDS = new Set(['left', 'right', 'full', 'inner', 'cross', 'asof', 'outer', 'join'])

function layOut(nodes: readonly Node[], indent: string): string {
  return splitClauses(nodes)
    .map((clause) => indent + layOutClause(clause, indent))
    .join('\n')
}

function splitClauses(nodes: readonly Node[]): Node[][] {
  const clauses: Node[][] = []
  nodes.forEach((node, index) => {
    if (index === 0 || startsClause(nodes, index)) clauses.push([])
    clauses.at(-1)?.push(node)
  })
  return clauses
}

function startsClause(nodes: readonly Node[], index: number): boolean {
  const [before, node] = [nodes[index - 1], nodes[index]]
  if (before?.kind === 'token' && before.isLineComment) return true
  if (node?.kind !== 'token') return false
  if (isLatest(nodes, index)) return true
  if (JOIN_WORDS.has(node.key)) {
    const isCall = nodes[index + 1]?.kind === 'group'
    return !isCall && !(before?.kind === 'token' && JOIN_WORDS.has(before.key))
  }
  const follows = before?.kind === 'token' ? before.key : ''
  return node.isLineComment || (CLAUSES.has(node.key) && !PHRASES.has(`${follows} ${node.key}`))
}

/** "latest on executed_at partition by symbol" */
function isLatest(nodes: readonly Node[], index: number): boolean {
  return isKey(nodes[index], 'latest') && isKey(nodes[index + 1], 'on') && !isKey(nodes[index - 1], 'join')
}

const LISTS = new Set(['select', 'set', 'group', 'order', 'values', 'returning'])

function layOutClause(clause: readonly Node[], indent: string): string {
  const line = flat(clause, indent)
  const first = clause[0]
  const key = first?.kind === 'token' ? first.key : ''
  if (line.split('\n').every((part) => part.length + indent.length <= WIDTH)) return line
  const deeper = indent + INDENT
  if (LISTS.has(key)) {
    const headLength = key === 'group' || key === 'order' ? 2 : isDistinct(clause[1]) ? 2 : 1
    const items = splitAt(clause.slice(headLength), (node) => isKey(node, ','), 'after')
    return [flat(clause.slice(0, headLength), indent), ...items.map((item) => deeper + flat(item, deeper))].join('\n')
  }
  if (CONDITIONS.has(key) || clause.some((node) => isKey(node, 'join'))) {
    const parts = splitAt(clause, (node) => isKey(node, 'or') || isJoiningAnd(clause, node), 'before')
    return parts.map((part, index) => (index === 0 ? '' : deeper) + flat(part, deeper)).join('\n')
  }
  if (key === 'create' || key === 'alter') {
    const parts = splitAt(clause, (node) => node.kind === 'token' && OPTIONS.has(node.key), 'before')
    return parts.map((part, index) => (index === 0 ? '' : indent) + flat(part, indent)).join('\n')
  }
  return line
}

const CONDITIONS = new Set(['where', 'having', 'qualify'])
/** Of a table, after its columns. */
const OPTIONS = new Set(['read', 'write', 'row', 'comment'])

/** Not the AND of BETWEEN. */
function isJoiningAnd(nodes: readonly Node[], node: Node): boolean {
  if (!isKey(node, 'and')) return false
  const before = nodes.slice(0, nodes.indexOf(node))
  const last = before.findLast((other) => isKey(other, 'and') || isKey(other, 'or') || isKey(other, 'between'))
  return !isKey(last, 'between')
}

function isKey(node: Node | undefined, key: string): boolean {
  return node?.kind === 'token' && node.key === key
}

function isDistinct(node: Node | undefined): boolean {
  return isKey(node, 'distinct') || isKey(node, 'all')
}

function splitAt(nodes: readonly Node[], isEdge: (node: Node) => boolean, where: 'before' | 'after'): Node[][] {
  const parts: Node[][] = [[]]
  for (const node of nodes) {
    if (where === 'before' && isEdge(node)) parts.push([])
    parts.at(-1)?.push(node)
    if (where === 'after' && isEdge(node)) parts.push([])
  }
  return parts.filter((part) => part.length > 0)
}

/** In one line, except sub-queries. */
function flat(nodes: readonly Node[], indent: string): string {
  let line = ''
  nodes.forEach((node, index) => {
    const text = node.kind === 'token' ? node.text : group(node.nodes, indent)
    line += (index > 0 && needsSpace(nodes, index) ? ' ' : '') + text
    if (node.kind === 'token' && node.isLineComment && index < nodes.length - 1) line += `\n${indent}`
  })
  return line
}

function group(nodes: readonly Node[], indent: string): string {
  const isQuery = isKey(nodes[0], 'select') || isKey(nodes[0], 'with')
  if (!isQuery) {
    const line = flat(nodes, indent)
    if (line.length + indent.length + 2 <= WIDTH || line.includes('\n') || !nodes.some((node) => isKey(node, ',')))
      return `(${line})`
    const deeper = indent + INDENT
    const items = splitAt(nodes, (node) => isKey(node, ','), 'after').map((item) => deeper + flat(item, deeper))
    return `(\n${items.join('\n')}\n${indent})`
  }
  return `(\n${layOut(nodes, indent + INDENT)}\n${indent})`
}

/** A name before a parenthesis is a function, a keyword is not. */
function needsSpace(nodes: readonly Node[], index: number): boolean {
  const [before, node] = [nodes[index - 1], nodes[index]]
  if (isKey(node, ',') || isKey(node, '.') || isKey(before, '.')) return false
  if (node?.kind === 'group' && before?.kind === 'token' && /^["\p{L}_]/u.test(before.text))
    return (
      (RESERVED.has(before.key) && !['cast', 'left', 'right'].includes(before.key)) ||
      ['over', 'filter', 'check', 'within'].includes(before.key) ||
      isTableName(nodes, index - 1)
    )
  if (isKey(before, '-') || isKey(before, '+')) return !isSign(nodes, index - 1)
  return true
}

/** "insert into t (a, b)", "with t (a) as", "create table t (" */
function isTableName(nodes: readonly Node[], index: number): boolean {
  return ['into', 'with', 'table', 'view', 'exists', 'on', 'key', 'unique'].some((key) => isKey(nodes[index - 1], key))
}

function isSign(nodes: readonly Node[], index: number): boolean {
  const before = nodes[index - 1]
  if (before === undefined) return true
  return before.kind === 'token' && (RESERVED.has(before.key) || /^[-+*/%=<>,|]/.test(before.text))
}
