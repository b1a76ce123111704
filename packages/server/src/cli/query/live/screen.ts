/** A live result on a terminal, as a pure function: rows and a size become the lines of a screen. */
import { cutTo, displayWidth, padTo, printable } from '../../output/table.ts'
import type { Column } from '../result.ts'
import type { Move, Row } from './rows.ts'

export interface Size {
  readonly columns: number
  readonly rows: number
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
    const widest = shown.reduce((most, { cells }) => Math.max(most, displayWidth(printable(cells[column] ?? ''))), 0)
    return Math.min(WIDEST, Math.max(view.widths[column] ?? 0, displayWidth(printable(name)), widest))
  })
}

type Style = 'plain' | 'bold' | 'dim' | Move

/** SGR parameters (ECMA-48 §8.3.117). */
const SGR: Readonly<Record<Style, string>> = {
  plain: '',
  same: '',
  bold: '1',
  dim: '2',
  changed: '33',
  up: '32',
  down: '31',
}

function styled(text: string, style: Style): string {
  return SGR[style] === '' ? text : `\u001b[${SGR[style]}m${text}\u001b[0m`
}

/** As many lines as the terminal has rows. */
export function screenLines(view: View, size: Size): string[] {
  const widths = columnWidths(view, size)
  const line = (cells: readonly string[], chooseStyle: (column: number) => Style): string => {
    let text = ''
    let x = 0
    for (const [column, width] of widths.entries()) {
      const room = Math.min(width, size.columns - x)
      if (room <= 0) break
      const cell = padTo(cutTo(printable(cells[column] ?? ''), room), room, view.columns[column]?.isNumeric)
      const hasNext = column < widths.length - 1 && size.columns > x + width + BETWEEN.length
      text += styled(cell, chooseStyle(column)) + (hasNext ? styled(BETWEEN, 'dim') : '')
      x += width + BETWEEN.length
    }
    return text
  }
  const names = view.columns.map(({ name }) => name)
  const rule = widths.map((width) => '─'.repeat(width)).join('─┼─')
  const body = visibleRows(view, size).map(({ cells, moves, changedAt }) =>
    line(cells, (column) => (changedAt < view.highlightedSince ? 'plain' : (moves[column] ?? 'plain'))),
  )
  const blank = Array<string>(Math.max(0, size.rows - OTHER_LINES - body.length)).fill('')
  const status = styled(cutTo(printable(view.status), size.columns), 'dim')
  return [line(names, () => 'bold'), styled(rule.slice(0, size.columns), 'dim'), ...body, ...blank, status].slice(
    -size.rows,
  )
}
