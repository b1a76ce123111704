/** A live result on a terminal, as pure functions: rows and a size become a screen, two screens the bytes from one to the next. */
import { cutTo, padTo, printable, widthOf } from '../../output/table.ts'
import type { Column } from '../result.ts'
import type { Move, Row } from './rows.ts'

export interface Size {
  readonly columns: number
  readonly rows: number
}

/** A piece of a line, as wide as it will ever be in this layout. */
export interface Segment {
  /** From 0. */
  readonly x: number
  readonly text: string
  readonly style: Style
}

export type Style = 'plain' | 'bold' | 'dim' | Exclude<Move, 'same'>

export interface Screen extends Size {
  readonly lines: readonly (readonly Segment[])[]
}

export interface View {
  readonly columns: readonly Column[]
  readonly rows: readonly Row[]
  /** The last rows are shown if not all fit, not the first. */
  readonly fromEnd: boolean
  readonly status: string
  /** Cells that changed at this time or later are highlighted. */
  readonly highlightedSince: number
  /** The widths so far: a column does not shrink while a result is shown, so that its neighbours stay where they are. */
  readonly widths: readonly number[]
}

const BETWEEN = ' │ '
/** Header, rule and status. */
const OTHER_LINES = 3
const WIDEST = 60

/** The rows that fit on the terminal. */
export function visibleRows({ rows, fromEnd }: Pick<View, 'rows' | 'fromEnd'>, size: Size): readonly Row[] {
  const most = Math.max(0, size.rows - OTHER_LINES)
  return fromEnd ? rows.slice(Math.max(0, rows.length - most)) : rows.slice(0, most)
}

export function columnWidths(view: View, size: Size): number[] {
  const shown = visibleRows(view, size)
  return view.columns.map(({ name }, column) => {
    const widest = shown.reduce((most, { cells }) => Math.max(most, widthOf(printable(cells[column] ?? ''))), 0)
    return Math.min(WIDEST, Math.max(view.widths[column] ?? 0, widthOf(printable(name)), widest))
  })
}

export function layOut(view: View, size: Size): Screen {
  const widths = columnWidths(view, size)
  const line = (cells: readonly string[], styleOf: (column: number) => Style): Segment[] => {
    const segments: Segment[] = []
    let x = 0
    for (const [column, width] of widths.entries()) {
      const room = Math.min(width, size.columns - x)
      if (room <= 0) break
      const text = cutTo(printable(cells[column] ?? ''), room)
      segments.push({ x, text: padTo(text, room, view.columns[column]?.isNumeric), style: styleOf(column) })
      if (column < widths.length - 1 && size.columns > x + width + BETWEEN.length)
        segments.push({ x: x + width, text: BETWEEN, style: 'dim' })
      x += width + BETWEEN.length
    }
    return segments
  }
  const rule = widths.map((width) => '─'.repeat(width)).join('─┼─')
  const body = visibleRows(view, size).map((row) =>
    line(row.cells, (column) => (row.changedAt < view.highlightedSince ? 'plain' : styleOfMove(row.moves[column]))),
  )
  const blank = Array.from({ length: Math.max(0, size.rows - OTHER_LINES - body.length) }, (): Segment[] => [])
  return {
    ...size,
    lines: [
      line(
        view.columns.map(({ name }) => name),
        () => 'bold',
      ),
      [{ x: 0, text: rule.slice(0, size.columns), style: 'dim' as const }],
      ...body,
      ...blank,
      [{ x: 0, text: cutTo(printable(view.status), size.columns), style: 'dim' as const }],
    ].slice(-size.rows),
  }
}

function styleOfMove(move: Move | undefined): Style {
  return move === undefined || move === 'same' ? 'plain' : move
}

/** SGR parameters (ECMA-48 §8.3.117). */
const SGR: Readonly<Record<Style, string>> = {
  plain: '',
  bold: '1',
  dim: '2',
  changed: '33',
  up: '32',
  down: '31',
}

/** The bytes that turn one screen into the other; the whole screen where there is none or its size differs. */
export function draw(before: Screen | undefined, after: Screen): string {
  const known = before?.columns === after.columns && before.rows === after.rows ? before.lines : undefined
  const parts = known === undefined ? ['\u001b[0m\u001b[2J'] : []
  for (const [y, line] of after.lines.entries()) {
    const old = known === undefined ? [] : (known[y] ?? [])
    const isSameLayout = old.length === line.length && line.every((segment, index) => hasPlaceOf(segment, old[index]))
    if (!isSameLayout && known !== undefined && old.length > 0) parts.push(`${moveTo(y, 0)}\u001b[2K`)
    for (const [index, segment] of line.entries()) {
      const was = isSameLayout ? old[index] : undefined
      if (was !== undefined && was.text === segment.text && was.style === segment.style) continue
      parts.push(moveTo(y, segment.x), styled(segment))
    }
  }
  return parts.join('')
}

function hasPlaceOf({ x, text }: Segment, other: Segment | undefined): boolean {
  return other !== undefined && other.x === x && widthOf(other.text) === widthOf(text)
}

function moveTo(y: number, x: number): string {
  return `\u001b[${y + 1};${x + 1}H`
}

function styled({ text, style }: Segment): string {
  return SGR[style] === '' ? text : `\u001b[${SGR[style]}m${text}\u001b[0m`
}
