/** A progress bar on the last line of the terminal; nothing without one. */

const WIDTH = 30
const REDRAW_MS = 100

export class Progress {
  readonly #label: string
  readonly #total: number | undefined
  readonly #unit: string
  readonly #started = performance.now()
  #drawn = Number.NEGATIVE_INFINITY

  /** Without a total it shows a count. */
  constructor(label: string, total: number | undefined, unit = 'rows') {
    this.#label = label
    this.#total = total
    this.#unit = unit
  }

  show(done: number, rows: number): void {
    const now = performance.now()
    if (now - this.#drawn < REDRAW_MS && done < (this.#total ?? Number.POSITIVE_INFINITY)) return
    this.#drawn = now
    const share = this.#total === undefined ? undefined : done / Math.max(this.#total, 1)
    draw(progressLine(this.#label, share, rows, this.#unit, now - this.#started))
  }

  end(): void {
    draw('')
  }
}

function draw(line: string): void {
  if (process.stderr.isTTY) process.stderr.write(`\r\u001b[2K${line}`)
}

function progressLine(
  label: string,
  share: number | undefined,
  count: number,
  unit: string,
  milliseconds: number,
): string {
  const bar = share === undefined ? [] : [progressBar(share)]
  const rate = milliseconds < 500 ? [] : [`${Math.round((count * 1000) / milliseconds)}/s`]
  return [label, ...bar, `${count} ${unit}`, ...rate].join('  ')
}

function progressBar(share: number): string {
  const full = Math.round(Math.min(share, 1) * WIDTH)
  return `${'█'.repeat(full)}${'░'.repeat(WIDTH - full)}  ${Math.floor(share * 100)}%`
}
