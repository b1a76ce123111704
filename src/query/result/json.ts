/** The JSON result: Columns first, then Rows as they come; and the same values for NDJSON. */
import { typeName } from '../iql/types.ts'
import { doubleText } from '../wire-text.ts'
import type { Cell, Encoding, ResultColumn, TextRowEncoder } from './encoding.ts'

export function createJsonEncoder(encoding: Encoding, columns: readonly ResultColumn[]): TextRowEncoder {
  let pending = jsonHead(columns)
  const writeRow = jsonRowWriter(encoding, columns)
  let separator = ''
  const takeText = (): string => {
    const text = pending
    pending = ''
    return text
  }
  return {
    add(row) {
      pending += separator + writeRow(row)
      separator = ','
    },
    get pending() {
      return pending.length
    },
    take: () => Buffer.from(takeText()),
    takeText,
  }
}

/** All that comes before the first row. */
export function jsonHead(columns: readonly ResultColumn[]): string {
  return kept(HEADS, columns, () => `{"Columns":${describeColumns(columns)},"Rows":[`)
}

/** `Columns`: a member for each column, written in their order. */
function describeColumns(columns: readonly ResultColumn[]): string {
  const members = columns.map((column, ordinal) => {
    const description = { Ordinal: ordinal, Type: typeName(column.type), Nullable: column.nullable }
    return `${JSON.stringify(column.name)}:${JSON.stringify(description)}`
  })
  return `{${members.join(',')}}`
}

type RowWriter = (row: readonly Cell[]) => string

/** The columns of a plan are the same object whenever it runs: what follows from them is made once. */
const HEADS = new WeakMap<readonly ResultColumn[], string>()
type Writers = WeakMap<readonly ResultColumn[], RowWriter>
const WRITERS: Readonly<Record<Encoding['rows'], Readonly<Record<Encoding['integers'], Writers>>>> = {
  objects: { numbers: new WeakMap(), strings: new WeakMap() },
  arrays: { numbers: new WeakMap(), strings: new WeakMap() },
}

export function jsonRowWriter(encoding: Encoding, columns: readonly ResultColumn[]): RowWriter {
  return kept(WRITERS[encoding.rows][encoding.integers], columns, () => makeRowWriter(encoding, columns))
}

function kept<Made>(
  all: WeakMap<readonly ResultColumn[], Made>,
  columns: readonly ResultColumn[],
  make: () => Made,
): Made {
  const known = all.get(columns)
  if (known !== undefined) return known
  const made = make()
  all.set(columns, made)
  return made
}

function makeRowWriter(encoding: Encoding, columns: readonly ResultColumn[]): RowWriter {
  const arrays = encoding.rows === 'arrays'
  const parts = columns.map((column, index) => ({
    lead: (index === 0 ? '' : ',') + (arrays ? '' : `${JSON.stringify(column.name)}:`),
    write: jsonCellWriter(column, encoding),
  }))
  const [open, close] = arrays ? ['[', ']'] : ['{', '}']
  return (row) => {
    let text = open
    for (let index = 0; index < parts.length; index++) {
      const part = parts[index]
      const cell = row[index]
      if (part === undefined) continue
      text += part.lead
      text += cell === null || cell === undefined ? 'null' : part.write(cell)
    }
    return text + close
  }
}

function jsonCellWriter(column: ResultColumn, encoding: Encoding): (cell: NonNullable<Cell>) => string {
  switch (column.type.kind) {
    case 'Integer':
      return encoding.integers === 'strings' ? quoted : jsonInteger
    case 'Double':
      return jsonDouble
    case 'Boolean':
      return String
    case 'Json':
      // Line breaks between its parts would break NDJSON; inside a text JSON has none.
      return (cell) => String(cell).replace(/[\r\n]/g, ' ')
    case 'Binary':
      return (cell) => (cell instanceof Uint8Array ? `"${Buffer.from(cell).toString('base64')}"` : JSON.stringify(cell))
    case 'Text':
      return jsonText
    default:
      return quoted
  }
}

/** Most integers are small, and a number is written faster than a bigint; digits are written already. */
function jsonInteger(cell: NonNullable<Cell>): string {
  if (typeof cell === 'string') return cell
  const number = Number(cell)
  return Number.isSafeInteger(number) ? String(number) : String(cell)
}

/** Printable ASCII without what JSON escapes: most texts, told faster than escaped. */
const PLAIN = /^[ !#-[\]-~]*$/

export function jsonText(cell: NonNullable<Cell>): string {
  return typeof cell === 'string' && PLAIN.test(cell) ? `"${cell}"` : JSON.stringify(cell)
}

/** For values whose text never holds a character that JSON escapes. */
function quoted(cell: NonNullable<Cell>): string {
  return `"${cell}"`
}

function jsonDouble(cell: NonNullable<Cell>): string {
  return typeof cell === 'number' && Number.isFinite(cell) ? doubleText(cell) : `"${cell}"`
}
