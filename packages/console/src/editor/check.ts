/** Finds errors in a text before it is sent, with the server's parser in the page. */
import { parse } from 'gatehouse-iql'
import { scan, splitStatements } from './scan.ts'

/** Something that is underlined. */
export interface Fault {
  readonly from: number
  readonly to: number
  readonly message: string
  readonly hint?: string | undefined
  /** Something is missing at the end of the statement. */
  readonly isMissing?: boolean
}

/** The first fault of each statement. */
export function findFaults(text: string): Fault[] {
  return splitStatements(text).flatMap((part) => {
    try {
      parse(part.text)
      return []
    } catch (error) {
      const { at, message, hint } = readRefusal(error)
      return [{ ...faultAt(text, part.from + at, message, hint), isMissing: at >= part.text.length }]
    }
  })
}

/** The fault of a condition alone. */
export function faultOfExpression(text: string): Fault[] {
  if (text.trim() === '') return []
  const before = 'SELECT 1 WHERE '
  const [fault] = findFaults(before + text)
  if (fault === undefined) return []
  const { from, to } = fault
  return [{ ...fault, from: Math.max(0, from - before.length), to: Math.max(0, to - before.length) }]
}

/** Underlines the token at a position; at the end, the one before. */
export function faultAt(text: string, position: number, message: string, hint?: string): Fault {
  const spans = scan(text)
  const span =
    spans.find(({ from, to }) => from <= position && position < to) ?? spans.findLast(({ to }) => to <= position)
  return { from: span?.from ?? 0, to: span?.to ?? text.length, message, hint }
}

/** The members of a Refusal of the parser. */
function readRefusal(error: unknown): { at: number; message: string; hint: string | undefined } {
  const { message, details } = error as Error & { details?: { members?: Members } }
  const { Position, Expected = [], Hint } = details?.members ?? {}
  const expected = Expected.length === 0 ? undefined : `Expected: ${Expected.join(', ')}`
  return { at: Position?.Offset ?? 0, message, hint: Hint ?? expected }
}

interface Members {
  readonly Position?: { readonly Offset: number }
  readonly Expected?: readonly string[]
  readonly Hint?: string
}
