/** Shows a text that is longer than the terminal: with the program in $PAGER, or page by page. */
import { spawn } from 'node:child_process'
import { displayWidth } from '../../output/table.ts'

export interface Terminal {
  readonly input: NodeJS.ReadableStream & { setRawMode?(isRaw: boolean): unknown }
  readonly output: NodeJS.WritableStream & { readonly columns?: number; readonly rows?: number }
}

const PROMPT = '-- more: Space for the next page, Enter for the next line, q to quit --'
const CLEAR_LINE = '\r\u001b[K'
const END_KEYS = new Set(['q', 'Q', '\u0003', '\u0004', '\u001b'])

/** Whether the text has more lines than the terminal. */
export function needsPager(text: string, { output }: Terminal): boolean {
  const { columns = 80, rows = 24 } = output
  let used = 0
  for (const line of splitLines(text)) {
    used += countTerminalRows(line, columns)
    // A row is for the prompt that follows.
    if (used >= rows) return true
  }
  return false
}

/** Nothing else may read the input meanwhile. */
export function page(text: string, terminal: Terminal): Promise<void> {
  const { PAGER = '' } = process.env
  return PAGER === '' || terminal.output !== process.stdout ? pageHere(text, terminal) : pageWith(PAGER, text)
}

/** The program has the terminal until it ends; Ctrl-C is for it. */
async function pageWith(command: string, text: string): Promise<void> {
  const ignore = (): void => {}
  process.on('SIGINT', ignore)
  try {
    // As git does for less: end if it fits, do not wrap, leave the text on the screen.
    const env = { LESS: 'FSX', ...process.env }
    const child = spawn('/bin/sh', ['-c', command], { stdio: ['pipe', 'inherit', 'inherit'], env })
    // The program may end before it has read everything.
    child.stdin.on('error', ignore)
    child.stdin.end(text)
    await new Promise<void>((resolve, reject) => {
      child.once('close', () => resolve())
      child.once('error', reject)
    })
  } finally {
    process.off('SIGINT', ignore)
  }
}

async function pageHere(text: string, { input, output }: Terminal): Promise<void> {
  const lines = splitLines(text)
  let next = 0
  /** At least one line, also if it is higher than the terminal. */
  const showRows = (room: number): void => {
    let left = room
    do {
      const line = lines[next++] ?? ''
      output.write(`${line}\n`)
      left -= countTerminalRows(line, output.columns ?? 80)
    } while (next < lines.length && left >= countTerminalRows(lines[next] ?? '', output.columns ?? 80))
  }
  const screen = () => Math.max(1, (output.rows ?? 24) - 1)
  showRows(screen())
  input.setRawMode?.(true)
  input.resume()
  try {
    while (next < lines.length) {
      output.write(PROMPT)
      const key = await readKey(input)
      output.write(CLEAR_LINE)
      if (key === undefined || END_KEYS.has(key)) return
      showRows(key === '\r' || key === '\n' ? 1 : screen())
    }
  } finally {
    input.setRawMode?.(false)
    input.pause()
  }
}

/** Undefined at the end of the input. */
function readKey(input: Terminal['input']): Promise<string | undefined> {
  return new Promise((resolve) => {
    const finish = (key: string | undefined): void => {
      input.off('data', onData).off('end', onEnd)
      resolve(key)
    }
    const onData = (chunk: Buffer | string): void => finish(String(chunk).slice(0, 1))
    const onEnd = (): void => finish(undefined)
    input.on('data', onData).on('end', onEnd)
  })
}

function splitLines(text: string): string[] {
  return text.replace(/\n$/, '').split('\n')
}

function countTerminalRows(line: string, columns: number): number {
  return Math.max(1, Math.ceil(displayWidth(line) / columns))
}
