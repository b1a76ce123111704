/** The errors of IQL: one table of stable codes, and the Refusal that points at the place in the statement. */
import { Refusal } from '../../protocol/refusal.ts'

export interface ErrorEntry {
  /** HTTP status. */
  readonly status: number
  readonly title: string
  /** What the author of the statement can do. */
  readonly remedy: string
}

/** Keys are the codes without their `IQL.`; engines raise those of the last block while a statement runs. */
export const ERRORS = {
  Syntax: entry('The statement cannot be read', 'Look at Expected for what can stand at the position.'),
  TooLong: entry('The statement is too long', 'Shorten it, or pass large values as parameters.', 413),
  TooComplex: entry('The statement is too complex', 'Split it, or nest less; the message names the limit.'),

  UnknownTable: entry('No such table', 'SHOW TABLES lists the tables that you may read.'),
  UnknownColumn: entry('No such column', 'DESCRIBE the table, and look at Hint.'),
  UnknownFunction: entry('No such function', 'The functions are listed in the documentation of IQL.'),
  UnknownType: entry(
    'No such type',
    'Use Text, Integer, Decimal(p, s), Double, Boolean, Timestamp, Date, Time, Uuid, Json or Binary.',
  ),
  UnknownIndex: entry('No such index', 'Look at the name of the index.'),
  AmbiguousColumn: entry('The column could be of several tables', 'Write the table or its alias before the column.'),
  DuplicateColumn: entry('A column stands twice', 'Give each its own name with AS, or name it once.'),
  DuplicateTable: entry('A table or alias stands twice', 'Give each use its own alias.'),
  DuplicateIndex: entry('There is an index of this name', 'Choose another name.', 409),
  TableExists: entry('There is a table of this name', 'Choose another name, or say IF NOT EXISTS.', 409),
  BadName: entry('The name cannot be used', 'A name has 1 to 63 bytes of UTF-8, that of an index 1 to 53.'),

  TypeMismatch: entry('The types do not fit', 'Convert one side with CAST.'),
  BadArguments: entry('The arguments do not fit the function', 'Look at the signature in the message.'),
  BadLiteral: entry('The literal does not read as its type', 'Look at the form that the message gives.'),
  BadType: entry(
    'The type cannot be used here',
    'Decimal takes at most 18 digits in a column; Interval is no column type.',
  ),
  ParameterType: entry('The type of a parameter is not clear', 'Write CAST(:name AS Type), or use it beside a column.'),
  MissingParameter: entry('A parameter has no value', 'Pass a value for every parameter of the statement.'),
  UnknownParameter: entry(
    'A value was passed for no parameter',
    'Name the parameter in the statement, or leave the value out.',
  ),
  BadValue: entry('The value does not fit its type', 'Look at the form that the message gives.', 422),

  NotGrouped: entry('The column is neither grouped nor aggregated', 'Name it in GROUP BY, or put it in an aggregate.'),
  MisplacedAggregate: entry(
    'An aggregate cannot stand here',
    'Aggregates stand in SELECT, HAVING and ORDER BY; filter groups with HAVING.',
  ),
  MisplacedWindow: entry(
    'A window function cannot stand here',
    'Window functions stand in SELECT and ORDER BY; filter their results in an outer query.',
  ),
  BadOrder: entry(
    'The result cannot be ordered by this',
    'Order by a result column, its number, or an expression that is in the result.',
  ),
  BadLimit: entry('LIMIT and OFFSET take a whole number', 'Write a number from 0, or a parameter.'),
  ColumnCount: entry('The number of columns differs', 'Give both sides the same number of columns.'),
  BadJoin: entry('The join condition cannot be used', 'ASOF JOIN takes equalities and exactly one of >=, >, <=, <.'),

  NotWritable: entry('The table cannot be written to', 'It only reports.', 403),
  Forbidden: entry('A scope is missing', 'Ask for a token with the scope that the message names.', 403),
  MissingColumn: entry('A column needs a value', 'Give a value for every column that is NOT NULL and has no default.'),
  NotNull: entry('NULL cannot be put in the column', 'Give a value.'),
  BadConflict: entry('ON CONFLICT names no key', 'Name the columns of the primary key or of a UNIQUE set.'),
  BadDefinition: entry('The definition contradicts itself', 'The message says what does.'),
  SystemTable: entry('A table of the service cannot be changed', 'Define a table of your own.', 403),

  DivisionByZero: entry('Division by zero', 'Guard the divisor: a / NULLIF(b, 0).'),
  Overflow: entry('A number leaves the range of its type', 'Cast to a wider type before calculating.'),
  Underflow: entry(
    'A number is too small for its type',
    'Scale the numbers up before calculating, or calculate with Decimals.',
  ),
  ManyRows: entry('A sub-query used as a value gave more than one row', 'Add LIMIT 1, or an aggregate.'),
  RowTwice: entry('One INSERT would change a row twice', 'Give each key of ON CONFLICT once.', 409),
  RowFilter: entry('The row would not be visible to its writer', 'Write only rows that you may read.', 403),
} as const satisfies Record<string, ErrorEntry>

export type ErrorName = keyof typeof ERRORS

export interface Position {
  /** UTF-16 units from the start of the statement. */
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

/** The Refusal for an error at a place of a statement. */
export function refuse(name: ErrorName, message: string, place: ErrorPlace): Refusal {
  const { statement, at, expected, hint } = place
  const members = {
    Position: positionOf(statement, at),
    ...(expected === undefined || expected.length === 0 ? {} : { Expected: expected }),
    ...(hint === undefined ? {} : { Hint: hint }),
  }
  return new Refusal(`IQL.${name}`, ERRORS[name].status, message, { members })
}

export function positionOf(statement: string, at: number): Position {
  let line = 1
  let start = 0
  for (let next = statement.indexOf('\n'); next !== -1 && next < at; next = statement.indexOf('\n', next + 1)) {
    line++
    start = next + 1
  }
  return { Offset: at, Line: line, Column: [...statement.slice(start, at)].length + 1 }
}

/** The line of the statement with a caret under the place, for a terminal. */
export function caretPicture(statement: string, position: Position): string {
  const start = lineStart(statement, position.Offset)
  const end = statement.indexOf('\n', start)
  const line = statement.slice(start, end === -1 ? undefined : end).replace(/\r$/, '')
  const before = position.Column - 1
  const characters = [...line.replaceAll('\t', ' ')]
  const from = Math.max(0, before - SHOWN_BEFORE)
  const shown = characters.slice(from, before + SHOWN_AFTER).join('')
  const label = `${position.Line} | ${from > 0 ? '…' : ''}`
  return `${label}${shown}\n${' '.repeat(label.length + before - from)}^`
}

const SHOWN_BEFORE = 60
const SHOWN_AFTER = 40

function lineStart(statement: string, offset: number): number {
  return offset === 0 ? 0 : statement.lastIndexOf('\n', offset - 1) + 1
}

function entry(title: string, remedy: string, status = 400): ErrorEntry {
  return { status, title, remedy }
}
