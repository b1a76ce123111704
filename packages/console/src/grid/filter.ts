/** Filters of columns, as they are typed: `acme` (contains), `= 5`, `!= 5`, `> 5`, `<= 5`, `null`, `not null`. */
import { readInterval } from 'gatehouse-iql'
import { typedNumber } from '../ui/number.ts'
import { cellText } from './cell-text.ts'
import type { GridColumn } from './column.ts'
import { isNumeric, typeKind, valueOrder } from './compare.ts'

export type Test = (value: unknown) => boolean

/** Undefined for an empty filter; `problem` says what is wrong with an operand, for the field. */
export function parseFilter({ type }: GridColumn, text: string): Test | undefined | { readonly problem: string } {
  const typed = text.trim()
  if (typed === '') return undefined
  if (/^null$/i.test(typed)) return (value) => value === null || value === undefined
  if (/^not\s+null$/i.test(typed)) return (value) => value !== null && value !== undefined
  const [, operator, operand = ''] = /^(=|!=|<>|<=?|>=?)\s*(.*)$/s.exec(typed) ?? []
  if (operator === undefined) return contains(type, typed)
  const wanted = parseOperand(typeKind(type), isNumeric(type) ? typedNumber(operand) : operand)
  if (wanted === undefined) return { problem: operand === '' ? 'A value is missing' : `Not a ${typeKind(type)}` }
  const { compare } = valueOrder(type)
  const holds = OPERATORS.get(operator)
  return (value) => value !== null && value !== undefined && holds?.(compare(value, wanted)) === true
}

const OPERATORS = new Map<string, (order: number) => boolean>([
  ['=', (order) => order === 0],
  ['!=', (order) => order !== 0],
  ['<>', (order) => order !== 0],
  ['<', (order) => order < 0],
  ['<=', (order) => order <= 0],
  ['>', (order) => order > 0],
  ['>=', (order) => order >= 0],
])

/** Case-insensitive, in the text that the cell shows. */
function contains(type: string, typed: string): Test {
  // With or without separators.
  const wanted = isNumeric(type) ? typedNumber(typed) : typed.toLowerCase()
  return (value) =>
    value !== null &&
    value !== undefined &&
    (typeof value === 'string' && typeKind(type) === 'Text' ? value : cellText(value, type))
      .toLowerCase()
      .includes(wanted)
}

function parseOperand(kind: string, text: string): unknown {
  switch (kind) {
    case 'Integer':
      return /^[+-]?\d+$/.test(text) ? BigInt(text.replace('+', '')) : undefined
    case 'Decimal':
      return /^[+-]?(\d+\.?\d*|\.\d+)$/.test(text) ? text : undefined
    case 'Double':
      return text !== '' && (text === 'NaN' || !Number.isNaN(Number(text))) ? Number(text) : undefined
    case 'Boolean':
      return /^(true|false)$/i.test(text) ? text.toLowerCase() === 'true' : undefined
    case 'Timestamp':
      return parseInstant(text)
    case 'LocalTimestamp':
      return text.replace(' ', 'T')
    case 'Interval':
      return readInterval(text) === undefined ? undefined : text
    default:
      return text
  }
}

/** Without a zone it is the viewer's, as in the cells. */
function parseInstant(text: string): string | undefined {
  const [, date, time = '00:00', fraction = '', zone = ''] =
    /^(\d{4}-\d{2}-\d{2})(?:[ T](\d{2}:\d{2}(?::\d{2})?)(\.\d{1,6})?)?\s*(Z|[+-]\d{2}:\d{2})?$/.exec(text) ?? []
  const at = Date.parse(`${date}T${time}${zone}`)
  if (date === undefined || Number.isNaN(at)) return undefined
  return new Date(at).toISOString().replace('.000', fraction === '' ? '.000' : fraction)
}
