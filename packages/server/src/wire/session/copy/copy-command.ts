/** Parses COPY: of a table or a query TO STDOUT, or of a table FROM STDIN, with its options in both spellings. */
import type { CopyForm } from '../../../query/index.ts'
import { type TextPart, TokenReader } from '../commands/token-reader.ts'
import { WireError } from '../failure.ts'

export interface CopyCommand {
  readonly kind: 'copy'
  readonly direction: 'to' | 'from'
  /** Of a query: its text, and where it begins. */
  readonly query: TextPart | undefined
  /** Of a table: its name as written, without a schema. */
  readonly table: string
  /** As written; all columns if there are none. */
  readonly columns: readonly string[]
  readonly options: CopyOptions
}

export interface CopyOptions {
  readonly format: 'text' | 'csv' | 'binary'
  readonly delimiter: string
  readonly absent: string
  readonly header: boolean | 'match'
  readonly quote: string
  readonly escape: string
  /** The columns whose values are always quoted. */
  readonly forceQuote: 'all' | readonly string[]
}

type Option = readonly [name: string, value: string | readonly string[] | undefined]

export function parseCopy(text: string): CopyCommand {
  const reader = new CopyReader(text)
  const query = reader.sees('(') ? reader.parenthesised() : undefined
  const table = query === undefined ? reader.tableName() : ''
  const columns = query === undefined && reader.sees('(') ? reader.names() : []
  const direction = reader.accepts('to') ? 'to' : reader.accepts('from') ? 'from' : reader.fail()
  if (direction === 'from' && query !== undefined) reader.fail()
  if (!reader.accepts(direction === 'to' ? 'stdout' : 'stdin'))
    throw new WireError(
      '0A000',
      'COPY reads and writes no files',
      `Use ${direction === 'to' ? 'STDOUT' : 'STDIN'}, or \\copy in psql`,
    )
  reader.accepts('with')
  const options = readOptions(reader.sees('(') ? reader.optionList() : reader.oldOptions())
  reader.end()
  return { kind: 'copy', direction, query, table, columns, options }
}

function readOptions(given: readonly Option[]): CopyOptions {
  const options = new Map<string, Option[1]>()
  for (const [name, value] of given) {
    if (options.has(name)) throw new WireError('42601', `The option ${name} is given twice`)
    options.set(name, value)
  }
  const format = readFormat(options)
  const isCsv = format === 'csv'
  const quote = character(options, 'quote', '"')
  const delimiter = character(options, 'delimiter', isCsv ? ',' : '\t')
  const absent = readText(options, 'null') ?? (isCsv ? '' : '\\N')
  if (/[\r\n]/.test(absent) || absent.includes(delimiter))
    throw new WireError('22023', 'NULL of COPY cannot contain a line break or the delimiter')
  if (format !== 'csv' && (options.has('quote') || options.has('escape') || options.has('force_quote')))
    throw new WireError('0A000', 'QUOTE, ESCAPE and FORCE_QUOTE are options of CSV')
  if (!isCsv && /[\\.a-z0-9]/.test(delimiter))
    throw new WireError('22023', `The delimiter of COPY cannot be ${JSON.stringify(delimiter)}`)
  const header = readHeader(options)
  if (format === 'binary' && (header !== false || options.has('delimiter') || options.has('null')))
    throw new WireError('0A000', 'The binary format of COPY has no header, delimiter and NULL')
  const force = options.get('force_quote')
  const forceQuote = force === '*' ? 'all' : typeof force === 'string' ? [force] : (force ?? [])
  return { format, delimiter, absent, header, quote, escape: character(options, 'escape', quote), forceQuote }
}

function readFormat(options: ReadonlyMap<string, Option[1]>): CopyOptions['format'] {
  const format = readText(options, 'format')?.toLowerCase() ?? 'text'
  if (format === 'text' || format === 'csv' || format === 'binary') return format
  throw new WireError('22023', `COPY has no format ${format}`, 'Use text, csv or binary')
}

function readText(options: ReadonlyMap<string, Option[1]>, name: string): string | undefined {
  const value = options.get(name)
  return typeof value === 'string' ? value : undefined
}

function character(options: ReadonlyMap<string, Option[1]>, name: string, usual: string): string {
  const value = readText(options, name) ?? usual
  if (value.length === 1 && value >= ' ' ? value <= '~' : value === '\t') return value
  throw new WireError('0A000', `${name.toUpperCase()} of COPY is one ASCII character`)
}

function readHeader(options: ReadonlyMap<string, Option[1]>): CopyOptions['header'] {
  if (!options.has('header')) return false
  const word = (readText(options, 'header') ?? 'true').toLowerCase()
  if (word === 'match') return 'match'
  return word !== 'false' && word !== 'off' && word !== '0'
}

/** The form of the rows of COPY … TO. */
export function chooseCopyForm(options: CopyOptions, names: readonly string[]): CopyForm {
  const { format, delimiter, absent, quote, forceQuote } = options
  if (format === 'binary') return { kind: 'copy-binary' }
  if (format === 'text') return { kind: 'copy-text', delimiter, absent }
  const forced = forceQuote === 'all' ? undefined : new Set(forceQuote.map((name) => name.toLowerCase()))
  const quoted = names.map((name) => forced === undefined || forced.has(name.toLowerCase()))
  return { kind: 'copy-csv', delimiter, absent, quote, escape: options.escape, quoted }
}

const OPTIONS = new Set([
  'format',
  'delimiter',
  'null',
  'header',
  'quote',
  'escape',
  'force_quote',
  'encoding',
  'freeze',
])

class CopyReader extends TokenReader {
  /** As written. All tables are in the schema public. */
  tableName(): string {
    const first = this.#written()
    if (!this.accepts('.')) return first
    if (first.toLowerCase().replaceAll('"', '') !== 'public')
      throw new WireError('3F000', `There is no schema ${first}`, 'Tables are in the schema public')
    return this.#written()
  }

  names(): readonly string[] {
    this.accepts('(')
    const names: string[] = []
    do names.push(this.#written())
    while (this.accepts(','))
    if (!this.accepts(')')) this.fail()
    return names
  }

  /** As written. */
  #written(): string {
    const { next } = this
    this.name()
    return this.text.slice(next?.at, next?.end)
  }

  /** (FORMAT csv, HEADER, …) */
  optionList(): readonly Option[] {
    this.accepts('(')
    const options: Option[] = []
    do {
      const name = this.next?.text ?? ''
      if (!OPTIONS.has(name)) throw new WireError('42601', `COPY has no option ${name}`, undefined, this.next?.at)
      this.skip()
      options.push([name, this.#optionValue()])
    } while (this.accepts(','))
    if (!this.accepts(')')) this.fail()
    return options
  }

  #optionValue(): Option[1] {
    if (this.sees(',') || this.sees(')')) return undefined
    if (this.accepts('*')) return '*'
    if (this.sees('(')) return this.names().map(unquoted)
    const token = this.next
    this.skip()
    return token?.text
  }

  /** [BINARY] [CSV] [HEADER] [DELIMITER [AS] '…'] [NULL [AS] '…'] … */
  oldOptions(): readonly Option[] {
    const options: Option[] = []
    for (let token = this.next; token !== undefined && OLD_OPTIONS.has(token.text); token = this.next) {
      this.skip()
      switch (token.text) {
        case 'binary':
        case 'csv':
          options.push(['format', token.text])
          break
        case 'header':
          options.push(['header', undefined])
          break
        default: {
          this.accepts('as')
          const value = this.next?.text
          this.skip()
          options.push([token.text === 'delimiters' ? 'delimiter' : token.text, value])
          break
        }
      }
    }
    return options
  }
}

const OLD_OPTIONS: ReadonlySet<string> = new Set([
  ...['binary', 'csv', 'header', 'delimiter', 'delimiters', 'null', 'quote', 'escape'],
])

/** As names are looked up: without quotes. */
export function unquoted(name: string): string {
  return name.startsWith('"') ? name.slice(1, -1).replaceAll('""', '"') : name
}
