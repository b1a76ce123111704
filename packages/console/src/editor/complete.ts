/** Completion: tables, columns, functions with the names of their arguments, keywords and parameters, by what the place expects. */
import type { Completion, CompletionContext, CompletionResult, CompletionSource } from '@codemirror/autocomplete'
import type { EditorView } from '@codemirror/view'
import { FUNCTIONS, KEYWORDS, SPECIAL_FORMS } from 'gatehouse-iql'
import { word } from '../ui/word.ts'
import type { Catalogue, KnownColumn } from './catalogue.ts'
import { columnsBeforeFrom } from './complete-columns.ts'
import { TYPES } from './language.ts'
import { printed } from './printed.ts'
import {
  findTables,
  isName,
  isTableExpected,
  parameterNames,
  type Span,
  scan,
  statementAt,
  unquoteName,
} from './scan.ts'
import { signature, wholeEntry } from './signature.ts'

const WORD = /^[\p{L}_][\p{L}\p{N}\p{M}_]*$/u

/** Two, so that what needs no request is shown at once. */
export function completionSources(catalogue: () => Catalogue | undefined): readonly CompletionSource[] {
  return [
    async (context) => {
      const place = findPlace(context)
      if (place === undefined) return null
      const parameter = context.matchBefore(/:[\p{L}\p{N}_]*/u)
      if (parameter !== null) return completeParameters(place.text, parameter.from)
      const last = place.code.at(-1)
      const isAsked = context.explicit || last?.key === '.' || isTableExpected(last)
      if (!place.hasWord && !isAsked) return null
      const options = await optionsFor(place, catalogue())
      return context.aborted || options.length === 0 ? null : { from: place.from, options, validFor: WORD }
    },
    async (context) => {
      const place = findPlace(context)
      const known = catalogue()
      if (place === undefined || known === undefined || (!place.hasWord && !context.explicit)) return null
      if (!isBeforeFrom(place)) return null
      const options = await columnsBeforeFrom(place.prefix, place.spans, known)
      return context.aborted || options.length === 0 ? null : { from: place.from, options, validFor: WORD }
    },
  ]
}

/** What is written around the cursor. */
interface Place {
  readonly text: string
  /** Where the word at the cursor begins. */
  readonly from: number
  readonly hasWord: boolean
  /** What has been typed of it. */
  readonly prefix: string
  /** The tokens before it, without comments. */
  readonly code: readonly Span[]
  /** The tokens of the statement. */
  readonly spans: readonly Span[]
}

function findPlace(context: CompletionContext): Place | undefined {
  const text = context.state.doc.toString()
  const before = scan(text.slice(0, context.pos))
  if (isClosed(before, context.pos)) return undefined
  const word = context.matchBefore(/"?[\p{L}_][\p{L}\p{N}\p{M}_]*|"/u)
  const from = word?.from ?? context.pos
  return {
    text,
    from,
    hasWord: word !== null,
    prefix: (word?.text ?? '').replace('"', ''),
    code: before.filter(({ kind, to }) => kind !== 'comment' && to <= from),
    spans: scan(statementAt(text, context.pos)?.text ?? ''),
  }
}

/** `select …` without a table. */
function isBeforeFrom({ code, spans }: Place): boolean {
  const last = code.at(-1)
  if (last === undefined || last.key === '.' || isTableExpected(last)) return false
  return spans.some(({ key }) => key === 'select') && findTables(spans).length === 0
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
  const options = parameterNames(text).map((name) => ({ label: `:${name}`, type: 'variable' }))
  return options.length === 0 ? null : { from, options, validFor: /^:[\p{L}\p{N}_]*$/u }
}

async function optionsFor({ code, spans, prefix }: Place, catalogue: Catalogue | undefined): Promise<Completion[]> {
  const [owner, last] = [code.at(-2), code.at(-1)]
  if (last?.key === '.') {
    return owner === undefined || !isName(owner) ? [] : columnsOfOwner(unquoteName(owner), spans, catalogue)
  }
  if (isTableExpected(last)) return [...namedQueries(spans), ...(await tableOptions(prefix, catalogue))]
  const uses = findTables(spans)
  const columns = await Promise.all(
    uses.map(async ({ table }) => columnOptions(await loadColumns(table, catalogue), table)),
  )
  const aliases = uses.map(({ table, alias }) => ({
    label: alias ?? table,
    type: 'class',
    ...(alias !== undefined && { detail: table }),
  }))
  const words = prefix !== '' && prefix === prefix.toLowerCase() ? LOWER_WORDS : UPPER_WORDS
  return unique([...columns.flat(), ...aliases, ...FUNCTION_OPTIONS, ...words])
}

async function columnsOfOwner(name: string, spans: readonly Span[], catalogue: Catalogue | undefined) {
  const wanted = name.toLowerCase()
  const use = findTables(spans).find(
    ({ table, alias }) => alias?.toLowerCase() === wanted || table.toLowerCase() === wanted,
  )
  const table = use?.table ?? name
  return columnOptions(await loadColumns(table, catalogue), table)
}

async function loadColumns(table: string, catalogue: Catalogue | undefined): Promise<readonly KnownColumn[]> {
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
      ? [{ label: unquoteName(span), type: 'class', detail: 'named query', boost: 1 }]
      : [],
  )
}

const UPPER_WORDS: readonly Completion[] = [
  ...KEYWORDS.map((label) => ({ label, type: 'keyword', detail: word('keyword'), boost: -1 })),
  ...TYPES.map((label) => ({ label, type: 'type', detail: word('type'), boost: -2 })),
]
const LOWER_WORDS: readonly Completion[] = UPPER_WORDS.map((word) =>
  word.type === 'keyword' ? { ...word, label: word.label.toLowerCase() } : word,
)

export const FUNCTION_OPTIONS: readonly Completion[] = [
  ...FUNCTIONS.filter(({ name }, index) => FUNCTIONS.findIndex((other) => other.name === name) === index).map(
    ({ name }) => {
      const entry = wholeEntry(name)
      return functionOption(name, signature(entry), entry.description, entry.example)
    },
  ),
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

/** Columns of several tables: the first of a name and type. */
function unique(options: readonly Completion[]): Completion[] {
  return [
    ...new Map(options.toReversed().map((option) => [`${option.type} ${option.label}`, option])).values(),
  ].reverse()
}
