/** Runs a command of the program in this process, which takes a tenth of the time of a separate process. For tests of what a
 *  command does and prints; signals, terminals and the end of the process need a real one. */
import { Readable, Writable } from 'node:stream'
import { main } from '../../packages/server/src/cli/main.ts'
import { type Finished, withoutOurs } from './process.ts'

export interface InProcessOptions {
  readonly environment?: Readonly<Record<string, string>>
  readonly stdin?: string
}

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
let isRunning = false

/** One at a time: input, output and environment belong to the process. */
export async function runInProcess(
  args: readonly string[],
  { environment = {}, stdin = '' }: InProcessOptions = {},
): Promise<Finished> {
  if (isRunning) throw new Error('Another command runs in this process')
  isRunning = true
  const [stdout, stderr] = [new Collector(), new Collector()]
  const leave = [
    replace('stdin', Readable.from(stdin === '' ? [] : [Buffer.from(stdin)])),
    replace('stdout', stdout),
    replace('stderr', stderr),
    replace('env', { ...withoutOurs(process.env), ...environment }),
    keepListeners(),
  ]
  const { exitCode } = process
  process.exitCode = undefined
  try {
    await main(args)
    return { status: Number(process.exitCode ?? 0), stdout: stdout.text(), stderr: stderr.text() }
  } finally {
    process.exitCode = exitCode
    for (const restore of leave) restore()
    isRunning = false
  }
}

class Collector extends Writable {
  readonly #chunks: Buffer[] = []

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: () => void): void {
    this.#chunks.push(chunk)
    done()
  }

  text(): string {
    return Buffer.concat(this.#chunks).toString()
  }
}

/** The test runner holds the streams themselves, not the property, and keeps writing to them. */
function replace(name: 'stdin' | 'stdout' | 'stderr' | 'env', value: unknown): () => void {
  const earlier = Object.getOwnPropertyDescriptor(process, name)
  Object.defineProperty(process, name, { value, configurable: true, enumerable: true, writable: true })
  return () => {
    if (earlier !== undefined) Object.defineProperty(process, name, earlier)
  }
}

/** `serve` listens for signals as long as its process lives. */
function keepListeners(): () => void {
  const earlier = SIGNALS.map((signal) => process.listeners(signal))
  return () => {
    for (const [index, signal] of SIGNALS.entries())
      for (const listener of process.listeners(signal))
        if (!earlier[index]?.includes(listener)) process.off(signal, listener)
  }
}
