/** A live result in a terminal: draws what changed, at most 20 times a second, until the user ends it. */
import type { LiveRows } from './rows.ts'
import { columnWidths, draw, layOut, type Screen, type Size } from './screen.ts'

export interface LiveTerminal {
  /** The result or the status has changed. */
  update(status: string): void
  /** Columns may be narrower from now on. */
  forgetWidths(): void
  /** Restores the terminal. */
  close(): void
}

const FRAME_MS = 50
const HIGHLIGHT_MS = 700
/** Alternate screen, hidden cursor, no wrapping at the right margin; and back. */
const ENTER = '\u001b[?1049h\u001b[?25l\u001b[?7l'
const LEAVE = '\u001b[?7h\u001b[?25h\u001b[?1049l'
/** Ctrl-C, Ctrl-D and q. */
const END_KEYS = new Set(['\u0003', '\u0004', 'q'])

export function openTerminal(result: LiveRows, onEnd: () => void): LiveTerminal {
  const { stdin, stdout } = process
  const hasColours = process.env.NO_COLOR === undefined && stdout.hasColors?.() === true
  let drawn: Screen | undefined
  let widths: readonly number[] = []
  let status = ''
  let timer: NodeJS.Timeout | undefined
  let wakeAt = 0
  let isBlocked = false

  const schedule = (delay: number): void => {
    const at = performance.now() + delay
    if (timer !== undefined && wakeAt <= at) return
    clearTimeout(timer)
    wakeAt = at
    timer = setTimeout(show, delay)
  }
  const show = (): void => {
    timer = undefined
    if (isBlocked) return
    const now = performance.now()
    const size: Size = { columns: stdout.columns || 80, rows: stdout.rows || 24 }
    const highlightedSince = hasColours ? now - HIGHLIGHT_MS : Number.POSITIVE_INFINITY
    const { columns, rows, growsAtEnd: fromEnd } = result
    const view = { columns, rows, fromEnd, status, highlightedSince, widths }
    widths = columnWidths(view, size)
    const next = layOut({ ...view, widths }, size)
    const bytes = draw(drawn, next)
    drawn = next
    if (bytes !== '' && !stdout.write(bytes)) {
      isBlocked = true
      stdout.once('drain', () => {
        isBlocked = false
        schedule(FRAME_MS)
      })
    }
    if (next.lines.some((line) => line.some(({ style }) => HIGHLIGHTS.has(style)))) schedule(HIGHLIGHT_MS)
  }
  const onResize = (): void => {
    drawn = undefined
    widths = []
    schedule(0)
  }
  const onKey = (key: string): void => {
    if (END_KEYS.has(key)) onEnd()
  }

  stdout.write(ENTER)
  stdout.on('resize', onResize)
  if (stdin.isTTY) stdin.setRawMode(true).setEncoding('utf8').on('data', onKey).resume()
  return {
    update(next) {
      status = next
      schedule(FRAME_MS)
    },
    forgetWidths() {
      widths = []
    },
    close() {
      clearTimeout(timer)
      stdout.off('resize', onResize)
      if (stdin.isTTY) stdin.setRawMode(false).off('data', onKey).pause()
      stdout.write(LEAVE)
    },
  }
}

const HIGHLIGHTS: ReadonlySet<string> = new Set(['changed', 'up', 'down'])
