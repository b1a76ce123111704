/** Completion: tables, columns, functions with the names of their arguments, keywords and parameters, by what the place expects. */
import type { Completion, CompletionContext, CompletionResult, CompletionSource } from '@codemirror/autocomplete'
import type { EditorView } from '@codemirror/view'
import { FUNCTIONS, KEYWORDS, RESERVED, SPECIAL_FORMS } from 'gatehouse-iql'
import type { Catalogue, FoundColumn, KnownColumn } from './catalogue.ts'
import { TYPES } from './language.ts'
import { isName, isTableExpected, nameOf, parametersOf, type Span, scan, statementAt, tablesOf } from './scan.ts'
import { signature } from './signature.ts'

const WORD = /^[\p{L}_][\p{L}\p{N}\p{M}_]*$/u

export function completionSource(catalogue: () => Catalogue | undefined): CompletionSource {
  return async (context) => {
    const text = context.state.doc.toString()
    const parameter = context.matchBefore(/:[\p{L}\p{N}_]*/u)
    const before = scan(text.slice(0, context.pos))
    if (isClosed(before, context.pos)) return null
    if (parameter !== null) return completeParameters(text, parameter.from)
    const word = context.matchBefore(/"?[\p{L}_][\p{L}\p{N}\p{M}_]*|"/u)
    const from = word?.from ?? context.pos
    const code = before.filter(({ kind, to }) => kind !== 'comment' && to <= from)
    const last = code.at(-1)
    const isAsked = context.explicit || last?.key === '.' || isTableExpected(last)
    if (word === null && !isAsked) return null
    const options = await optionsFor(context, text, code, word?.text ?? '', catalogue())
    return context.aborted || options.length === 0 ? null : { from, options, validFor: WORD }
  }
}

/** In a comment, a text or a number nothing is completed. */
function isClosed(before: readonly Span[], position: number): boolean {
  const last = before.at(-1)
  if (last === undefined) return false
  if (last.kind === 'comment') return last.to === position && (last.text.startsWith('--') || !last.text.endsWith('*/'))
  const isOpen = last.kind === 'text' && (last.text.match(/'/g)?.length ?? 0) % 2 === 1
  return isOpen || (last.kind === 'number' && last.to === position)
}

function completeParameters(text: string, from: number): CompletionResult | null {
  const options = parametersOf(text).map((name) => ({ label: `:${name}`, type: 'variable' }))
  return options.length === 0 ? null : { from, options, validFor: /^:[\p{L}\p{N}_]*$/u }
}

async function optionsFor(
  context: CompletionContext,
  text: string,
  code: readonly Span[],
  typed: string,
  catalogue: Catalogue | undefined,
): Promise<Completion[]> {
  const statement = statementAt(text, context.pos)
  const spans = scan(statement?.text ?? '')
  const [owner, last] = [code.at(-2), code.at(-1)]
  if (last?.key === '.') {
    return owner === undefined || !isName(owner) ? [] : columnsOfOwner(nameOf(owner), spans, catalogue)
  }
  const prefix = typed.replace('"', '')
  if (isTableExpected(last)) return [...namedQueries(spans), ...(await tableOptions(prefix, catalogue))]
  const uses = tablesOf(spans)
  const columns =
    uses.length === 0
      ? [await columnsBeforeFrom(prefix, code, spans, catalogue)]
      : await Promise.all(uses.map(async ({ table }) => columnOptions(await columnsOf(table, catalogue), table)))
  const aliases = uses.map(({ table, alias }) => ({
    label: alias ?? table,
    type: 'class',
    ...(alias !== undefined && { detail: table }),
  }))
  const words = prefix !== '' && prefix === prefix.toLowerCase() ? LOWER_WORDS : UPPER_WORDS
  return unique([...columns.flat(), ...aliases, ...FUNCTION_OPTIONS, ...words])
}

/** Names that are compared with those of tables: more would only take time. */
const MOST_NAMES = 6

/** In `select …` without a table: the columns of all tables, first those of tables that have the columns written so far. */
async function columnsBeforeFrom(
  prefix: string,
  code: readonly Span[],
  spans: readonly Span[],
  catalogue: Catalogue | undefined,
): Promise<Completion[]> {
  if (catalogue === undefined || !code.some(({ key }) => key === 'select')) return []
  const written = new Set(spans.filter((span) => isColumnName(span)).map((span) => nameOf(span).toLowerCase()))
  written.delete(prefix.toLowerCase())
  const [found, ...others] = await Promise.all(
    [prefix, ...[...written].slice(0, MOST_NAMES)].map((name) => catalogue.columnsLike(name)),
  )
  const having = others.map(
    (columns, index) =>
      new Set(
        columns.filter(({ name }) => name.toLowerCase() === [...written][index]).map(({ tablename }) => tablename),
      ),
  )
  const matches = (table: string) => having.filter((tables) => tables.has(table)).length
  return byName(found ?? []).map((columns) =>
    foundOption(columns, Math.max(...columns.map((c) => matches(c.tablename)))),
  )
}

function isColumnName(span: Span): boolean {
  return isName(span) && (span.kind === 'quoted' || (!RESERVED.has(span.key) && !FUNCTION_NAMES.has(span.key)))
}

function byName(columns: readonly FoundColumn[]): readonly (readonly FoundColumn[])[] {
  return [...Map.groupBy(columns, ({ name }) => name).values()]
}

/** A column that one or several tables have. */
function foundOption(columns: readonly FoundColumn[], matches: number): Completion {
  const [{ name, type } = { name: '', type: '' }] = columns
  const tables = columns.map(({ tablename }) => tablename)
  const shown = tables.length > 3 ? `${tables.slice(0, 2).join(', ')} and ${tables.length - 2} more` : tables.join(', ')
  return {
    label: name,
    apply: printed(name),
    type: 'property',
    detail: `${type} · ${shown}`,
    boost: 2 + matches * 10,
    info: `${columns.map((column) => `${column.tablename}.${column.name} · ${column.type}`).join('\n')}`,
  }
}

async function columnsOfOwner(name: string, spans: readonly Span[], catalogue: Catalogue | undefined) {
  const wanted = name.toLowerCase()
  const use = tablesOf(spans).find(
    ({ table, alias }) => alias?.toLowerCase() === wanted || table.toLowerCase() === wanted,
  )
  const table = use?.table ?? name
  return columnOptions(await columnsOf(table, catalogue), table)
}

async function columnsOf(table: string, catalogue: Catalogue | undefined): Promise<readonly KnownColumn[]> {
  return (await catalogue?.columns(table)) ?? []
}

async function tableOptions(prefix: string, catalogue: Catalogue | undefined): Promise<Completion[]> {
  const tables = (await catalogue?.tables(prefix)) ?? []
  return tables.map(({ name, description, columns }) => ({
    label: name,
    apply: printed(name),
    type: 'class',
    detail: columns === 1 ? '1 column' : `${columns} columns`,
    ...(description !== null && { info: description }),
  }))
}

function columnOptions(columns: readonly KnownColumn[], table: string): Completion[] {
  return columns.map(({ name, type, nullable, isprimarykey }) => ({
    label: name,
    apply: printed(name),
    type: 'property',
    detail: type,
    boost: 2,
    info: `${table}.${name} · ${type}${isprimarykey ? ' · primary key' : nullable ? '' : ' · not null'}`,
  }))
}

/** `with recent as (…)` */
function namedQueries(spans: readonly Span[]): Completion[] {
  return spans.flatMap((span, index) =>
    isName(span) && spans[index + 1]?.key === 'as' && spans[index + 2]?.key === '('
      ? [{ label: nameOf(span), type: 'class', detail: 'named query', boost: 1 }]
      : [],
  )
}

/** A name as statements write it. */
export function printed(name: string): string {
  return /^[\p{L}_][\p{L}\p{N}\p{M}_]*$/u.test(name) && !RESERVED.has(name.toLowerCase())
    ? name
    : `"${name.replaceAll('"', '""')}"`
}

const UPPER_WORDS: readonly Completion[] = [
  ...KEYWORDS.map((label) => ({ label, type: 'keyword', detail: 'keyword', boost: -1 })),
  ...TYPES.map((label) => ({ label, type: 'type', detail: 'type', boost: -2 })),
]
const LOWER_WORDS: readonly Completion[] = UPPER_WORDS.map((word) =>
  word.type === 'keyword' ? { ...word, label: word.label.toLowerCase() } : word,
)

const FUNCTION_NAMES: ReadonlySet<string> = new Set([...FUNCTIONS, ...SPECIAL_FORMS].map(({ name }) => name))

const FUNCTION_OPTIONS: readonly Completion[] = [
  ...FUNCTIONS.map((entry) => functionOption(entry.name, signature(entry), entry.description, entry.example)),
  ...SPECIAL_FORMS.map(({ name, description, example }) => functionOption(name, `${name}(…)`, description, example)),
]

function functionOption(name: string, written: string, description: string, example: string): Completion {
  return {
    label: name,
    type: 'function',
    detail: written.slice(name.length),
    info: () => describe(written, description, example),
    apply: (view, _, from, to) => insertCall(view, name, from, to),
  }
}

/** The cursor moves between the new parentheses, or past existing ones. */
function insertCall(view: EditorView, name: string, from: number, to: number): void {
  const hasParenthesis = view.state.sliceDoc(to, to + 1) === '('
  view.dispatch({
    changes: { from, to, insert: hasParenthesis ? name : `${name}()` },
    selection: { anchor: from + name.length + 1 },
    userEvent: 'input.complete',
  })
}

function describe(written: string, description: string, example: string): HTMLElement {
  const box = document.createElement('div')
  for (const [tag, text] of [
    ['code', written],
    ['p', description],
    ['code', example],
  ] as const) {
    const element = document.createElement(tag)
    element.textContent = text
    box.append(element)
  }
  return box
}

/** Overloads and columns of several tables: the first of a name and type. */
function unique(options: readonly Completion[]): Completion[] {
  return [
    ...new Map(options.toReversed().map((option) => [`${option.type} ${option.label}`, option])).values(),
  ].reverse()
}
