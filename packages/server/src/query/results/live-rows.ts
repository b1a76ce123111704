/** Rows of live queries as text: each is written once, where it is read, and is compared and sent as it is. */

import type { ResultColumn } from 'gatehouse-iql'
import type { Steps } from '../../lib/turns.ts'
import type { LiveColumns, LiveRow } from '../model/live-statement.ts'
import type { Cell, Encoding, TextRowEncoder } from '../model/result.ts'
import { jsonRowWriter, RowText } from './encoders.ts'

export type LiveEncoding = Pick<Encoding, 'rows' | 'integers'>

/** An encoder whose rows hold the columns, the key columns and the route columns, in this order. `readLiveRows` reads its text. */
export function createLiveEncoder(columns: LiveColumns, encoding: LiveEncoding): TextRowEncoder {
  const { columns: shown, keyColumns, routeColumns } = columns
  const writeRow = jsonRowWriter(encoding, shown)
  const routeStart = shown.length + (keyColumns?.length ?? 0)
  const writeKey = keyColumns === undefined ? () => '' : writerFrom(shown.length, keyColumns, encoding)
  const writeRoute = writerFrom(routeStart, routeColumns, encoding)
  // JSON escapes tabs in strings. Only the text of a Json value can hold one, between its members.
  const mayHoldTabs = shown.some(({ type }) => type.kind === 'Json')
  return new RowText('', '', '\n', (cells) => {
    const row = writeRow(cells)
    return `${writeKey(cells)}\t${writeRoute(cells)}\t${mayHoldTabs ? row.replaceAll('\t', ' ') : row}`
  })
}

/** Writes values as the JSON text of an array: a key or a route. Equal values have equal texts. */
export function liveKeyWriter(
  columns: readonly ResultColumn[],
  { integers }: Pick<Encoding, 'integers'>,
): (cells: readonly Cell[]) => string {
  return jsonRowWriter({ rows: 'arrays', integers }, columns)
}

function writerFrom(start: number, columns: readonly ResultColumn[], encoding: LiveEncoding) {
  if (columns.length === 0) return () => '[]'
  const write = liveKeyWriter(columns, encoding)
  return (cells: readonly Cell[]): string => write(cells.slice(start))
}

const ROWS_PER_STEP = 512

export function* readLiveRows(text: string): Steps<LiveRow[]> {
  const rows: LiveRow[] = []
  for (let start = 0; start < text.length; ) {
    if (rows.length % ROWS_PER_STEP === ROWS_PER_STEP - 1) yield
    const afterKey = text.indexOf('\t', start)
    const afterRoute = text.indexOf('\t', afterKey + 1)
    const end = text.indexOf('\n', afterRoute + 1)
    if (afterKey === -1 || afterRoute === -1 || end === -1) throw new Error('The text of live rows ends within a row')
    rows.push({
      key: text.slice(start, afterKey),
      route: text.slice(afterKey + 1, afterRoute),
      row: text.slice(afterRoute + 1, end),
    })
    start = end + 1
  }
  return rows
}

/** The rows of several texts. A text that is put together from very many would be made whole in one long turn. */
export function* readLiveTexts(texts: readonly string[]): Steps<LiveRow[]> {
  const rows: LiveRow[] = []
  for (const text of texts) {
    for (const row of yield* readLiveRows(text)) rows.push(row)
    yield
  }
  return rows
}
