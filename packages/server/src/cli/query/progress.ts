/** A progress bar on the last line of the terminal; nothing without one. */

const WIDTH = 30
const REDRAW_MS = 100

export class Progress {
  readonly #label: string
  readonly #total: number
  readonly #started = performance.now()
  #drawn = Number.NEGATIVE_INFINITY

  constructor(label: string, total: number) {
    this.#label = label
    this.#total = total
  }

  show(done: number, rows: number): void {
    const now = performance.now()
    if (now - this.#drawn < REDRAW_MS && done < this.#total) return
    this.#drawn = now
    draw(progressLine(this.#label, done / Math.max(this.#total, 1), rows, now - this.#started))
  }

  end(): void {
    draw('')
  }
}

function draw(line: string): void {
  if (process.stderr.isTTY) process.stderr.write(`\r\u001b[2K${line}`)
}

function progressLine(label: string, share: number, rows: number, milliseconds: number): string {
  const full = Math.round(Math.min(share, 1) * WIDTH)
  const bar = '█'.repeat(full) + '░'.repeat(WIDTH - full)
  const rate = milliseconds < 500 ? '' : `  ${Math.round((rows * 1000) / milliseconds)}/s`
  return `${label}  ${bar}  ${Math.floor(share * 100)}%  ${rows} rows${rate}`
}
