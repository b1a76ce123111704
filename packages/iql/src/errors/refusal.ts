/** The Refusal of an error of IQL, with its position in the statement. */
import { Refusal } from 'gatehouse-protocol'
import type { ErrorName } from './errors.ts'
import { findStatus } from './statuses.ts'

export interface Position {
  /** UTF-16 code units from the start of the statement. */
  readonly Offset: number
  /** From 1. */
  readonly Line: number
  /** Characters (code points) from the start of the line, from 1. */
  readonly Column: number
}

export interface ErrorPlace {
  readonly statement: string
  readonly at: number
  readonly expected?: readonly string[]
  readonly hint?: string | undefined
}

/** The Refusal for an error at a position in a statement. */
export function refuse(name: ErrorName, message: string, place: ErrorPlace): Refusal {
  const { statement, at, expected, hint } = place
  const members = {
    Position: locatePosition(statement, at),
    ...(expected === undefined || expected.length === 0 ? {} : { Expected: expected }),
    ...(hint === undefined ? {} : { Hint: hint }),
  }
  return new Refusal(`IQL.${name}`, findStatus(name), message, { members })
}

export function locatePosition(statement: string, at: number): Position {
  let line = 1
  let start = 0
  for (let next = statement.indexOf('\n'); next !== -1 && next < at; next = statement.indexOf('\n', next + 1)) {
    line++
    start = next + 1
  }
  return { Offset: at, Line: line, Column: [...statement.slice(start, at)].length + 1 }
}

/** The line of the statement with a caret under the position, for a terminal. */
export function caretPicture(statement: string, position: Position): string {
  const start = lineStart(statement, position.Offset)
  const end = statement.indexOf('\n', start)
  const line = statement.slice(start, end === -1 ? undefined : end).replace(/\r$/, '')
  const before = position.Column - 1
  const characters = [...line.replaceAll('\t', ' ')]
  // The end of a long line, if the caret is near it; otherwise with some text after the caret.
  const from = Math.max(0, Math.min(before - SHOWN_BEFORE, characters.length - LONGEST_LINE))
  const shown = characters.slice(from, from + LONGEST_LINE).join('')
  const label = `${position.Line} | ${from > 0 ? '…' : ''}`
  const rest = from + LONGEST_LINE < characters.length ? '…' : ''
  return `${label}${shown}${rest}\n${' '.repeat(label.length + before - from)}^`
}

/** Of a longer line, the part around the caret is shown. */
const LONGEST_LINE = 110
const SHOWN_BEFORE = 60

function lineStart(statement: string, offset: number): number {
  return offset === 0 ? 0 : statement.lastIndexOf('\n', offset - 1) + 1
}
