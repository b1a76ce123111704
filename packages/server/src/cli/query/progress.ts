/** A progress bar on the last line of the terminal. */

export interface Progress {
  show(done: number, rows: number): void
  end(): void
}

const WIDTH = 30
const REDRAW_MS = 100

/** Shows nothing without a terminal. */
export function createProgress(label: string, total: number, stream: NodeJS.WriteStream = process.stderr): Progress {
  if (!stream.isTTY) return { show() {}, end() {} }
  const started = performance.now()
  let drawn = Number.NEGATIVE_INFINITY
  return {
    show(done, rows) {
      if (performance.now() - drawn < REDRAW_MS && done < total) return
      drawn = performance.now()
      stream.write(`\r\u001b[2K${progressLine(label, done / Math.max(total, 1), rows, performance.now() - started)}`)
    },
    end() {
      stream.write('\r\u001b[2K')
    },
  }
}

function progressLine(label: string, share: number, rows: number, milliseconds: number): string {
  const full = Math.round(Math.min(share, 1) * WIDTH)
  const bar = '█'.repeat(full) + '░'.repeat(WIDTH - full)
  const rate = milliseconds < 500 ? '' : `  ${Math.round((rows * 1000) / milliseconds)}/s`
  return `${label}  ${bar}  ${Math.floor(share * 100)}%  ${rows} rows${rate}`
}
