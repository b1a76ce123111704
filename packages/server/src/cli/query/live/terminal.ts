/** A live result in a terminal: draws the lines that changed, at most 20 times a second, until the user ends it. */
import type { LiveRows } from './rows.ts'
import { columnWidths, type Size, screenLines, visibleRows } from './screen.ts'

const FRAME_MS = 50
const HIGHLIGHT_MS = 700
/** Alternate screen, hidden cursor, no wrapping at the right margin; and back. */
const ENTER = '\u001b[?1049h\u001b[?25l\u001b[?7l'
const LEAVE = '\u001b[?7h\u001b[?25h\u001b[?1049l'
/** Behind a line and not before it, so that nothing flickers. */
const CLEAR_END = '\u001b[K'
/** Ctrl-C, Ctrl-D and q. */
const END_KEYS = new Set(['\u0003', '\u0004', 'q'])

export class LiveTerminal {
  readonly #result: LiveRows
  readonly #onEnd: () => void
  readonly #hasColours = process.env.NO_COLOR === undefined && process.stdout.hasColors?.() === true
  #drawn: readonly string[] = []
  #widths: readonly number[] = []
  #status = ''
  #timer: NodeJS.Timeout | undefined
  #wakeAt = 0
  #isBlocked = false

  constructor(result: LiveRows, onEnd: () => void) {
    const { stdin, stdout } = process
    this.#result = result
    this.#onEnd = onEnd
    stdout.write(ENTER)
    stdout.on('resize', this.#onResize)
    if (stdin.isTTY) stdin.setRawMode(true).setEncoding('utf8').on('data', this.#onKey).resume()
  }

  /** The result or the status has changed. */
  update(status: string): void {
    this.#status = status
    this.#schedule(FRAME_MS)
  }

  /** Columns may be narrower from now on. */
  forgetWidths(): void {
    this.#widths = []
  }

  /** Restores the terminal. */
  close(): void {
    const { stdin, stdout } = process
    clearTimeout(this.#timer)
    stdout.off('resize', this.#onResize)
    if (stdin.isTTY) stdin.setRawMode(false).off('data', this.#onKey).pause()
    stdout.write(LEAVE)
  }

  readonly #onResize = (): void => {
    this.#drawn = []
    this.#widths = []
    this.#schedule(0)
  }

  readonly #onKey = (key: string): void => {
    if (END_KEYS.has(key)) this.#onEnd()
  }

  #schedule(delay: number): void {
    const at = performance.now() + delay
    if (this.#timer !== undefined && this.#wakeAt <= at) return
    clearTimeout(this.#timer)
    this.#wakeAt = at
    this.#timer = setTimeout(() => this.#show(), delay)
  }

  #show(): void {
    this.#timer = undefined
    if (this.#isBlocked) return
    const { stdout } = process
    const lines = this.#lines({ columns: stdout.columns || 80, rows: stdout.rows || 24 })
    const changed = lines.map((line, y) => (line === this.#drawn[y] ? '' : `\u001b[${y + 1}H${line}${CLEAR_END}`))
    this.#drawn = lines
    if (stdout.write(changed.join(''))) return
    this.#isBlocked = true
    stdout.once('drain', () => {
      this.#isBlocked = false
      this.#schedule(FRAME_MS)
    })
  }

  #lines(size: Size): string[] {
    const now = performance.now()
    const highlightedSince = this.#hasColours ? now - HIGHLIGHT_MS : Number.POSITIVE_INFINITY
    const { columns, rows, growsAtEnd: fromEnd } = this.#result
    const view = { columns, rows, fromEnd, status: this.#status, highlightedSince, widths: this.#widths }
    this.#widths = columnWidths(view, size)
    if (visibleRows(view, size).some(({ changedAt }) => changedAt >= highlightedSince)) this.#schedule(HIGHLIGHT_MS)
    return screenLines({ ...view, widths: this.#widths }, size)
  }
}
