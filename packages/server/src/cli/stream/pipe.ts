/** A streaming session in a pipe: sends the lines of stdin, prints messages, ends when none is expected. */
import { createInterface, type Interface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { UsageError } from '../errors.ts'
import { asObject, parseJson } from '../output/json.ts'
import { parseLine } from './line.ts'
import { messageTopic } from './pending.ts'
import type { StreamSession } from './session.ts'

/** Returns the exit status: 0, or 1 if requests were refused or not answered, or there is no connection in the end. */
export async function runPipe(session: StreamSession, waitMs: number): Promise<number> {
  // The reader of the pipe has closed it.
  process.stdout.once('error', () => process.exit())
  let onSettled = (): void => {}
  let failed = 0
  const settle = (): void => {
    if (session.pending.isEmpty) onSettled()
  }
  session.listen({
    onMessage(text) {
      process.stdout.write(`${text}\n`)
      const message = asObject(parseJson(text))
      // A subscription that only waits for the next token is not refused.
      const isRefused = message.TransactionID !== undefined || !session.pending.has(messageTopic(message))
      if (message.Action === 'Error' && isRefused) failed += 1
      settle()
    },
    onLost(reason, count) {
      failed += count
      const lost = count === 0 ? '' : `; ${count} ${count === 1 ? 'request was' : 'requests were'} not answered`
      warn(`${reason}${lost}; reconnecting`)
      settle()
    },
    onResumed: () => warn('connected again'),
  })
  const ended = session.ended.then((reason) => {
    warn(reason)
    return 1
  })
  const lines = createInterface({ input: process.stdin })
  try {
    if ((await Promise.race([sendLines(session, lines), ended])) === 1) return 1
  } finally {
    // The writer may keep the pipe open, which would keep this process alive.
    lines.close()
  }
  const settled = new Promise<number>((resolve) => {
    onSettled = () => resolve(0)
    settle()
  })
  const status = await Promise.race([settled, sleep(waitMs, 0, { ref: false }), ended])
  return failed > 0 || session.lost !== undefined ? 1 : status
}

function warn(text: string): void {
  process.stderr.write(`gatehouse: ${text}\n`)
}

/** In a terminal anything can be sent, to see the reply. In a pipe, the session could end before the server has refused it. */
function checked(text: string): string {
  if (parseJson(text) === undefined) throw new UsageError(`This line is not JSON: ${text.slice(0, 100)}`)
  return text
}

/** Resolves at the end of the input; rejects when a line cannot be handled. */
function sendLines(session: StreamSession, lines: Interface): Promise<number> {
  let nextId = 1
  return new Promise((resolve, reject) => {
    lines.on('line', (line) => {
      try {
        const input = parseLine(line, () => nextId++)
        if (input.kind === 'message') session.send(checked(input.text))
        else if (input.kind !== 'nothing') throw new UsageError(`"${line.trim()}" works only in a terminal`)
      } catch (error) {
        reject(error)
      }
    })
    lines.on('close', () => resolve(0))
  })
}
