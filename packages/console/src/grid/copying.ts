/** Copying the selected cells of the grid, and the message about it. */
import { useEffect, useState } from 'preact/hooks'
import { count } from '../ui/index.ts'
import { rowsAs } from './copy.ts'
import type { GridParts } from './layout.ts'
import type { CellRange } from './selection.ts'

/** More would make a text that no clipboard takes. */
const MOST_COPIED = 1_000_000
const SHOWN_MS = 2500

export function useCopying({ model, columns }: GridParts, range: CellRange | undefined) {
  const [said, setSaid] = useState('')
  useEffect(() => {
    if (said === '') return
    const timer = setTimeout(() => setSaid(''), SHOWN_MS)
    return () => clearTimeout(timer)
  }, [said])
  const onCopy = (event: ClipboardEvent) => {
    if (range === undefined || range.bottom < 0) return
    event.preventDefault()
    const { top, bottom, left, right } = range
    const cells = (bottom - top + 1) * (right - left + 1)
    if (cells > MOST_COPIED) return setSaid(`Not copied: more than ${count(MOST_COPIED)} cells. Export them instead.`)
    const wanted = Array.from({ length: right - left + 1 }, (_, at) => columns.at(left + at))
    event.clipboardData?.setData('text/plain', rowsAs(model, 'tsv', { top, bottom, columns: wanted }))
    setSaid(cells === 1 ? 'Copied 1 cell' : `Copied ${count(cells)} cells`)
  }
  return { said, onCopy }
}
