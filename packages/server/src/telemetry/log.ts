/** The log: one structured line per event; never a secret, token, code or query string. */
import { type DestinationStream, type Logger, pino } from 'pino'

export type { Logger }

export interface LogOptions {
  readonly level: string
  readonly format: 'json' | 'pretty'
  /** On every line, so that the lines of several nodes can be distinguished. */
  readonly node?: string
  /** The number of a worker, after the node. */
  readonly worker?: number
  readonly destination?: DestinationStream
}

export function createLogger({ level, format, node, worker, destination }: LogOptions): Logger {
  const options = {
    level,
    base: node === undefined ? null : { node, ...(worker !== undefined && { worker }) },
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
    serializers: { err: describeError },
  }
  return pino(options, destination ?? (format === 'pretty' ? prettyLines() : standardOutput()))
}

/** Returns a function that calls `report` at most once in this time, with the number of its own calls since the last report. */
export function atMostEvery(milliseconds: number, report: (count: number) => void): () => void {
  let count = 0
  let reportedAt = Number.NEGATIVE_INFINITY
  return () => {
    count++
    const now = performance.now()
    if (now - reportedAt < milliseconds) return
    reportedAt = now
    report(count)
    count = 0
  }
}

/** The most characters that wait to be written; further lines are lost. */
const MOST_WAITING = 4 * 1024 * 1024
/**
 * Lines of this time are written together. To write each one takes the event loop as long as it takes to serve a small request: it
 * calls the thread pool, and is woken when the line is written (bench `stream-arrivals`).
 */
const BATCH_MS = 10

/**
 * Lines that cannot be written, for example to a full disk, wait for the next one or are lost: without a listener the error would end
 * the process. `flushSync`, which pino calls after a fatal error and at exit, would retry forever.
 */
function standardOutput(): DestinationStream {
  const output = pino.destination({ dest: 1, sync: false, maxLength: MOST_WAITING })
  // For the last lines: a write on the thread pool could come after later ones, or after the exit.
  const atOnce = pino.destination({ dest: 1, sync: true }).on('error', () => {})
  const write = output.write.bind(output)
  const flush = output.flushSync.bind(output)
  let batch = ''
  const writeBatch = (to: (lines: string) => unknown): void => {
    if (batch !== '') to(batch)
    batch = ''
  }
  let isFailing = false
  output.on('error', () => {
    isFailing = true
  })
  output.on('write', () => {
    isFailing = false
  })
  output.write = (line) => {
    if (batch === '') setTimeout(writeBatch, BATCH_MS, write)
    batch += line
    return true
  }
  output.flushSync = () => {
    if (isFailing) return
    flush()
    writeBatch((lines) => atOnce.write(lines))
  }
  return output
}

/** Changes the level; what `report` logs is shown if the earlier or the new level shows it. */
export function changeLevel(logger: Logger, level: string, report: () => void): void {
  const showsMore = !logger.isLevelEnabled(level)
  if (showsMore) logger.level = level
  report()
  logger.level = level
}

/** Only message and stack: a database error may carry the row that failed. */
function describeError(error: unknown): object {
  if (!(error instanceof Error)) return { message: String(error) }
  const cause = error.cause === undefined ? {} : { cause: describeError(error.cause) }
  return { type: error.name, message: error.message, stack: error.stack, ...cause }
}

function prettyLines(): DestinationStream {
  return {
    write(line: string) {
      const { time, level, msg, node: _, ...rest } = JSON.parse(line)
      const details = Object.keys(rest).length === 0 ? '' : ` ${JSON.stringify(rest)}`
      process.stdout.write(`${String(time).slice(11, 23)} ${String(level).padEnd(5)} ${msg ?? ''}${details}\n`)
    },
  }
}
