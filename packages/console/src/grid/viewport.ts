/** Which rows are in view. */

/*
 * All rows have the same height, so this is arithmetic; libraries keep a measurement for each row, which for a million
 * rows is slow to build and again after each append. Browsers limit the height of an element to some 17 million pixels
 * (Firefox), fewer than a million rows need: beyond `TALLEST` the scroll bar covers the rows in proportion.
 */
export const ROW_HEIGHT = 28
export const HEADER_HEIGHT = 36
/** Without the types of the columns. */
export const NAMES_HEIGHT = 32
export const FILTER_HEIGHT = 34
const TALLEST = 12_000_000
/** Rows are placed from a round number, so that most of them keep their place when the view moves. */
const ANCHOR = 1000

export interface Viewport {
  /** In pixels of the scroll container. */
  readonly top: number
  readonly left: number
  /** The size of the room for rows. */
  readonly height: number
  readonly width: number
}

export interface RowWindow {
  readonly first: number
  readonly last: number
  /** The row from which the others are placed, and where it is in pixels from the top of the view. */
  readonly anchor: number
  readonly offset: number
  /** Rows that fit, and one more: how many elements there are to reuse. */
  readonly slots: number
}

export function canvasHeight(rows: number): number {
  return Math.min(TALLEST, rows * ROW_HEIGHT)
}

export function rowsInView(rows: number, { top, height }: Viewport): RowWindow {
  const start = virtualTop(rows, top, height)
  const slots = Math.ceil(height / ROW_HEIGHT) + 1
  const first = Math.max(0, Math.min(Math.floor(start / ROW_HEIGHT), rows - 1))
  const last = Math.min(rows, first + slots)
  const anchor = Math.floor(first / ANCHOR) * ANCHOR
  return { first, last, anchor, offset: anchor * ROW_HEIGHT - start, slots }
}

/** The row at a distance from the top of the rows in view. */
export function rowAt(rows: number, y: number, { top, height }: Viewport): number {
  const row = Math.floor((virtualTop(rows, top, height) + y) / ROW_HEIGHT)
  return Math.max(0, Math.min(rows - 1, row))
}

/** How far to scroll so that a row is in view, with as little movement as can be. */
export function revealRow(rows: number, row: number, { top, height }: Viewport): number {
  const start = virtualTop(rows, top, height)
  const [above, below] = [row * ROW_HEIGHT, (row + 1) * ROW_HEIGHT - height]
  if (above < start) return realTop(rows, above, height)
  return below > start ? realTop(rows, below, height) : top
}

/** Pixels from the top of the first row, as if nothing were limited. */
function virtualTop(rows: number, top: number, height: number): number {
  return top * proportion(rows, height)
}

function realTop(rows: number, start: number, height: number): number {
  return start / proportion(rows, height)
}

function proportion(rows: number, height: number): number {
  const all = rows * ROW_HEIGHT
  return all <= TALLEST ? 1 : (all - height) / (TALLEST - height)
}
