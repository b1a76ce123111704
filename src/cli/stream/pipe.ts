/** A streaming session in a pipe: sends the lines of stdin, prints messages, ends when none is expected. */
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { UsageError } from '../errors.ts'
import { parseLine } from './line.ts'
import { PendingMessages } from './pending.ts'
import type { StreamSession } from './session.ts'

/** Returns the exit status: 0, or 1 if the server closed the session. */
export async function runPipe(session: StreamSession, waitMs: number): Promise<number> {
  // The reader of the pipe has gone.
  process.stdout.once('error', () => process.exit())
  const closed = session.closed.then(() => 1)
  const status = await exchange(session, waitMs, closed)
  if (status === 1) process.stderr.write(`gatehouse: ${await session.closed}\n`)
  return status
}

async function exchange(session: StreamSession, waitMs: number, closed: Promise<number>): Promise<number> {
  let nextId = 1
  let onSettled = (): void => {}
  const pending = new PendingMessages()
  session.onMessage((text) => {
    process.stdout.write(`${text}\n`)
    pending.onReceived(text)
    if (pending.isEmpty) onSettled()
  })
  const send = (line: string): void => {
    const input = parseLine(line, () => nextId++)
    if (input.kind === 'nothing') return
    if (input.kind !== 'message') throw new UsageError(`"${line.trim()}" works only in a terminal`)
    pending.onSent(input.text)
    session.send(input.text)
  }
  if ((await Promise.race([forEachLine(send), closed])) === 1) return 1
  const settled = new Promise<number>((resolve) => {
    onSettled = () => resolve(0)
    if (pending.isEmpty) onSettled()
  })
  return Promise.race([settled, sleep(waitMs, 0, { ref: false }), closed])
}

/** Resolves at the end of the input; rejects when a line cannot be handled. */
function forEachLine(handle: (line: string) => void): Promise<number> {
  const lines = createInterface({ input: process.stdin })
  return new Promise((resolve, reject) => {
    lines.on('line', (line) => {
      try {
        handle(line)
      } catch (error) {
        reject(error)
        lines.close()
      }
    })
    lines.on('close', () => resolve(0))
  })
}
