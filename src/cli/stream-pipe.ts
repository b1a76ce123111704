/** The terminal client without a terminal: lines in, messages out, and an end when every request is answered. */
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { setTimeout as pause } from 'node:timers/promises'
import { Usage } from './command.ts'
import { readLine } from './stream-line.ts'
import type { StreamSession } from './stream-session.ts'

/** Returns the exit status: 0, or 1 when the server ended the session. */
export async function pipeSession(session: StreamSession, wait: number): Promise<number> {
  let nextId = 1
  let unanswered = 0
  let settled = (): void => {}
  session.onMessage((text) => {
    process.stdout.write(`${text}\n`)
    if (hasTransactionId(text)) unanswered--
    if (unanswered <= 0) settled()
  })
  const ended = session.ended.then(({ text }) => {
    process.stderr.write(`gatehouse: ${text}\n`)
    return 1
  })
  const lines = createInterface({ input: process.stdin })
  lines.on('line', (line) => {
    const meaning = readLine(line, () => nextId++)
    if (meaning.kind === 'nothing') return
    if (meaning.kind !== 'message') throw new Usage(`"${line.trim()}" is for the terminal, not for a pipe`)
    if (hasTransactionId(meaning.text) && !meaning.text.includes('"Action":"Cancel"')) unanswered++
    session.send(meaning.text)
  })
  const closed = await Promise.race([once(lines, 'close').then(() => 0), ended])
  if (closed === 1) return 1
  const allAnswered = new Promise<number>((resolve) => {
    settled = () => resolve(0)
    if (unanswered <= 0) settled()
  })
  return Promise.race([allAnswered, pause(wait, 0, { ref: false }), ended])
}

function hasTransactionId(text: string): boolean {
  try {
    const message: unknown = JSON.parse(text)
    return typeof message === 'object' && message !== null && 'TransactionID' in message
  } catch {
    return false
  }
}
