/** What of the grid is in view: how large it is, and which rows and columns it shows. */
import type { RefObject } from 'preact'
import { useEffect, useLayoutEffect, useState } from 'preact/hooks'
import type { Columns, ColumnWindow } from './columns.ts'
import type { GridModel } from './model.ts'
import { type RowWindow, rowsInView, type Viewport } from './viewport.ts'

/** What the parts of a grid share. */
export interface GridParts {
  /** The element that scrolls and has the focus. */
  readonly scroller: RefObject<HTMLDivElement | null>
  readonly model: GridModel
  readonly columns: Columns
  readonly layout: Layout
}

export interface Layout {
  /** The whole grid. */
  readonly view: Viewport
  /** The room for cells: without the header and the row numbers. */
  readonly body: Viewport
  readonly headHeight: number
  /** The width of the row numbers. */
  readonly gutter: number
  readonly shown: RowWindow
  readonly window: ColumnWindow
  /** Takes over how far the grid was scrolled. */
  readonly readView: () => void
}

/** `fill`: columns that need less than the width fill it. */
export function useLayout(
  { scroller, model, columns }: Omit<GridParts, 'layout'>,
  headHeight: number,
  fill: boolean,
  numbers: boolean,
): Layout {
  const [view, setView] = useState<Viewport>({ top: 0, left: 0, width: 0, height: 0 })
  const rows = model.size
  const gutter = numbers ? Math.max(44, String(rows).length * 8 + 20) : 0
  const body: Viewport = {
    ...view,
    height: Math.max(0, view.height - headHeight),
    width: Math.max(0, view.width - gutter),
  }
  const readView = () => {
    const element = scroller.current
    if (element === null) return
    const { scrollTop: top, scrollLeft: left, clientWidth: width, clientHeight: height } = element
    setView((before) =>
      before.top === top && before.left === left && before.width === width && before.height === height
        ? before
        : { top, left, width, height },
    )
  }
  useLayoutEffect(() => {
    readView()
    const observer = new ResizeObserver(readView)
    if (scroller.current !== null) observer.observe(scroller.current)
    return () => observer.disconnect()
  }, [])
  useEffect(() => {
    columns.measure()
    if (fill) columns.stretch(body.width)
  }, [rows > 0, body.width])
  const window = columns.window(body.left, body.width)
  return { view, body, headHeight, gutter, shown: rowsInView(rows, body), window, readView }
}
