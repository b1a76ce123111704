/** The terminal client without a terminal: lines in, messages out, and an end when nothing more is to come. */
import { createInterface } from 'node:readline'
import { setTimeout as pause } from 'node:timers/promises'
import { Usage } from './command.ts'
import { Expectations } from './stream-expectations.ts'
import { readLine } from './stream-line.ts'
import type { StreamSession } from './stream-session.ts'

/** Returns the exit status: 0, or 1 when the server ended the session. */
export async function pipeSession(session: StreamSession, wait: number): Promise<number> {
  // Nobody reads what comes: there is nothing left to do.
  process.stdout.once('error', () => process.exit())
  const ended = session.ended.then(() => 1)
  const status = await talk(session, wait, ended)
  if (status === 1) process.stderr.write(`gatehouse: ${(await session.ended).text}\n`)
  return status
}

async function talk(session: StreamSession, wait: number, ended: Promise<number>): Promise<number> {
  let nextId = 1
  let settled = (): void => {}
  const expected = new Expectations()
  session.onMessage((text) => {
    process.stdout.write(`${text}\n`)
    expected.heard(text)
    if (expected.isNothing) settled()
  })
  const send = (line: string): void => {
    const meaning = readLine(line, () => nextId++)
    if (meaning.kind === 'nothing') return
    if (meaning.kind !== 'message') throw new Usage(`"${line.trim()}" is for the terminal, not for a pipe`)
    expected.said(meaning.text)
    session.send(meaning.text)
  }
  const closed = await Promise.race([everyLine(send), ended])
  if (closed === 1) return 1
  const nothingToCome = new Promise<number>((resolve) => {
    settled = () => resolve(0)
    if (expected.isNothing) settled()
  })
  return Promise.race([nothingToCome, pause(wait, 0, { ref: false }), ended])
}

/** Until the input ends or a line cannot be taken. */
function everyLine(take: (line: string) => void): Promise<number> {
  const lines = createInterface({ input: process.stdin })
  return new Promise((resolve, reject) => {
    lines.on('line', (line) => {
      try {
        take(line)
      } catch (error) {
        reject(error)
        lines.close()
      }
    })
    lines.on('close', () => resolve(0))
  })
}
