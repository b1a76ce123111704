/** Where the columns of a grid are: widths, pinned ones first, and which of the others are in view. */
import { signal } from '@preact/signals'
import type { GridColumn } from './column.ts'
import { isNumeric, typeKind } from './compare.ts'
import type { GridModel } from './model.ts'
import { neededDigits, shownText } from './shown-text.ts'

/** Columns in view, as rows draw them. A new object whenever anything about it changes. */
export interface ColumnWindow {
  readonly pinned: readonly PlacedColumn[]
  readonly scrolled: readonly PlacedColumn[]
  /** Where the first of `scrolled` begins, from the left edge of the scrolling columns. */
  readonly start: number
  readonly pinnedWidth: number
}

export interface PlacedColumn {
  readonly index: number
  /** In the order on the screen. */
  readonly place: number
  readonly width: number
}

const NARROWEST = 48
const WIDEST = 1200
/** How much narrower columns of text may be made to fit; a number that is cut would be another number. */
const NARROWER = 0.8
/** The width of a character of the data in pixels, in a font of usual width. */
const CHARACTER = 7.4

export class Columns {
  readonly #model: GridModel
  readonly #hasTypes: boolean
  readonly #widths: number[]
  #pinned: readonly number[] = []
  #scrolled: readonly number[]
  /** The left edges of the scrolling columns, and the right edge of the last. */
  #starts: number[] = []
  #window: ColumnWindow | undefined
  #windowKey = ''
  /** Before they were stretched. */
  #measured: number[] | undefined
  #isResized = false
  /** Rises when a width or a pin changes. */
  readonly version = signal(0)
  isMeasured = false

  /** `hasTypes`: whether the types stand below the names. */
  constructor(model: GridModel, hasTypes = true) {
    this.#model = model
    this.#hasTypes = hasTypes
    this.#widths = model.columns.map((column) => widthFor(column, [], hasTypes))
    this.#scrolled = model.columns.map((_, index) => index)
    this.#place()
  }

  get totalWidth(): number {
    return this.#starts.at(-1) ?? 0
  }

  get pinnedWidth(): number {
    return this.#pinned.reduce((sum, index) => sum + this.columnWidth(index), 0)
  }

  columnWidth(index: number): number {
    return this.#widths[index] ?? NARROWEST
  }

  isPinned(index: number): boolean {
    return this.#pinned.includes(index)
  }

  /** The column at a place on the screen; `columnPlace` is the reverse. */
  at(place: number): number {
    return this.#pinned[place] ?? this.#scrolled[place - this.#pinned.length] ?? 0
  }

  columnPlace(index: number): number {
    const pinned = this.#pinned.indexOf(index)
    return pinned === -1 ? this.#pinned.length + this.#scrolled.indexOf(index) : pinned
  }

  /** Makes them wider, or a little narrower, together, so that they fill a width; not once the user has set one. */
  stretch(width: number): void {
    if (!this.isMeasured || this.#isResized || width <= 0) return
    this.#measured ??= [...this.#widths]
    const needed = this.#measured.reduce((sum, own) => sum + own, 0)
    const texts = this.#measured.map((own, index) => (isNumeric(this.#model.columns[index]?.type ?? '') ? 0 : own))
    const flexible = texts.reduce((sum, own) => sum + own, 0)
    const factor = flexible === 0 ? 1 : (width - needed + flexible) / flexible
    const more = Math.max(0, (width - needed) / this.#measured.length)
    const isShrunk = factor < 1 && factor >= NARROWER
    for (const [index, own] of this.#measured.entries())
      this.#widths[index] = Math.floor(isShrunk ? own - (1 - factor) * (texts[index] ?? 0) : own + more)
    this.#place()
  }

  resize(index: number, width: number): void {
    this.#isResized = true
    this.#widths[index] = Math.round(Math.min(WIDEST, Math.max(NARROWEST, width)))
    this.#place()
  }

  pin(index: number, isPinned: boolean): void {
    const others = this.#pinned.filter((other) => other !== index)
    this.#pinned = isPinned ? [...others, index] : others
    this.#scrolled = this.#model.columns.map((_, at) => at).filter((at) => !this.#pinned.includes(at))
    this.#place()
  }

  /** From the first rows, once there are some; later only on request, because widths that change on their own are distracting. */
  measure(): void {
    if (this.isMeasured || this.#model.size === 0) return
    this.isMeasured = true
    for (const [index] of this.#model.columns.entries()) this.#widths[index] = this.#fitting(index, 0, 50, 320)
    this.#place()
  }

  /** As wide as these rows need. */
  fit(index: number, from: number, to: number): void {
    this.resize(index, this.#fitting(index, from, to, 800))
  }

  /** Those that are in view, `left` and `width` in pixels. */
  window(left: number, width: number): ColumnWindow {
    const room = Math.max(0, width - this.pinnedWidth)
    let first = firstAfter(this.#starts, left) - 1
    first = Math.max(0, first)
    let last = first
    while (last < this.#scrolled.length && (this.#starts[last] ?? 0) < left + room) last++
    const name = `${this.version.peek()} ${first} ${last}`
    if (this.#window !== undefined && this.#windowKey === name) return this.#window
    this.#windowKey = name
    const place = (index: number, at: number): PlacedColumn => ({ index, place: at, width: this.columnWidth(index) })
    this.#window = {
      pinned: this.#pinned.map(place),
      scrolled: this.#scrolled.slice(first, last).map((index, at) => place(index, this.#pinned.length + first + at)),
      start: this.#starts[first] ?? 0,
      pinnedWidth: this.pinnedWidth,
    }
    return this.#window
  }

  /** How far to scroll so that a column is in view. */
  reveal(index: number, left: number, width: number): number {
    if (this.isPinned(index)) return left
    const start = this.#starts[this.#scrolled.indexOf(index)] ?? 0
    const room = width - this.pinnedWidth
    if (start < left) return start
    const end = start + this.columnWidth(index)
    return end > left + room ? Math.min(start, end - room) : left
  }

  /** The column at a distance from the left edge of the cells. */
  columnAt(x: number, left: number): number {
    let edge = 0
    for (const index of this.#pinned) {
      edge += this.columnWidth(index)
      if (x < edge) return index
    }
    const at = firstAfter(this.#starts, x - edge + left) - 1
    return this.#scrolled[Math.min(Math.max(0, at), this.#scrolled.length - 1)] ?? this.at(0)
  }

  #fitting(index: number, from: number, to: number, most: number): number {
    const column = this.#model.columns[index] as GridColumn
    const count = Math.max(0, Math.min(to, this.#model.size) - from)
    const values = Array.from({ length: count }, (_, at) => this.#model.row(from + at)[index])
    const digits = values.reduce<number>((most, value) => Math.max(most, neededDigits(value, column)), 0)
    const texts = values.map((value) => shownText(value, column, digits))
    return Math.min(most, widthFor(column, texts, this.#hasTypes))
  }

  #place(): void {
    this.#starts = [0]
    let end = 0
    for (const index of this.#scrolled) {
      end += this.columnWidth(index)
      this.#starts.push(end)
    }
    this.version.value++
  }
}

function widthFor({ name, type }: GridColumn, texts: readonly string[], hasTypes: boolean): number {
  // A sign is wider than a digit.
  const longest = texts.reduce((most, text) => Math.max(most, text.length + (/^[+\u2212]/.test(text) ? 0.5 : 0)), 0)
  // Sort arrow and menu follow the name; without types they lie over it.
  const room = hasTypes ? 52 : 26
  const header = Math.max(name.length * 8.2 * wideness() + room, hasTypes ? type.length * 6.2 * wideness() + 44 : 0)
  const least = typeKind(type).endsWith('Timestamp') && texts.length === 0 ? 170 : hasTypes ? 72 : 56
  return Math.round(Math.max(least, header, longest * CHARACTER * wideness() + (hasTypes ? 24 : 18)))
}

let measured: number | undefined

/** How much wider than usual the digits of the font are: a number that is cut would be another number. */
function wideness(): number {
  if (measured !== undefined) return measured
  const context = globalThis.document?.createElement('canvas').getContext('2d')
  if (!context) return 1
  context.font = `13px ${getComputedStyle(document.body).fontFamily}`
  measured = Math.max(1, context.measureText('0').width / CHARACTER)
  return measured
}

/** The first index whose value is greater, in ascending numbers. */
function firstAfter(numbers: readonly number[], value: number): number {
  let [low, high] = [0, numbers.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if ((numbers[middle] as number) <= value) low = middle + 1
    else high = middle
  }
  return low
}
