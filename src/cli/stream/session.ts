/** One streaming connection: sends and receives messages, and authenticates with an access token. */
import { text } from 'node:stream/consumers'
import { WebSocket } from 'ws'
import { CLOSE_CODES } from '../../protocol/close-codes.ts'
import { STREAM_PATH } from '../../protocol/envelope.ts'
import { Unreachable } from '../client.ts'
import { CommandError } from '../errors.ts'
import { membersOf, parseJson } from '../json.ts'
import { printable } from '../table.ts'

export interface StreamSession {
  readonly server: string
  send(text: string): void
  /** Receives every message from now on; replaces the listener before. */
  onMessage(listener: (text: string) => void): void
  /** Resolves when the connection is closed, with the reason. */
  readonly closed: Promise<string>
  authenticate(accessToken: string): Promise<void>
  close(): void
}

/** Negative: a user of the terminal never gets this id. */
const SIGN_IN_ID = '"TransactionID":-1789562'

export async function openSession(server: string, version: string): Promise<StreamSession> {
  const url = `${server.replace(/^http/, 'ws')}${STREAM_PATH}?version=${encodeURIComponent(version)}`
  const socket = new WebSocket(url, ['PlatformJson'], { handshakeTimeout: 10_000 })
  const early: string[] = []
  let listener = (text: string): void => void early.push(text)
  socket.on('message', (data) => listener(data.toString()))
  const closed = new Promise<string>((resolve) => {
    socket.on('close', (code, reason) => resolve(explainClose(code, reason.toString())))
  })
  await opened(socket, url)
  socket.on('error', () => {})

  return {
    server,
    closed,
    send: (text) => socket.send(text),
    onMessage(next) {
      for (const text of early.splice(0)) next(text)
      listener = next
    },
    async authenticate(accessToken) {
      const usual = listener
      const reply = new Promise<string>((resolve) => {
        listener = (text) => (text.includes(SIGN_IN_ID) ? resolve(text) : usual(text))
      })
      const Data = JSON.stringify({ Provider: 'Bearer', AccessToken: accessToken })
      socket.send(`{"Controller":"Auth","Topic":"AuthToken",${SIGN_IN_ID},"Data":${Data}}`)
      const text = await Promise.race([reply, closed])
      listener = usual
      if (!text.includes('"Result":"Success"'))
        throw new CommandError(`The server did not accept the token: ${printable(text)}`)
    },
    close: () => socket.close(CLOSE_CODES.normal.code),
  }
}

function opened(socket: WebSocket, url: string): Promise<void> {
  return new Promise((resolve, reject) => {
    socket.once('open', resolve)
    socket.once('error', (error) => reject(new Unreachable(`${url} cannot be reached (${error.message})`)))
    socket.once('unexpected-response', async (_request, response) => {
      const { detail } = membersOf(parseJson(await text(response).catch(() => '')))
      const reason = typeof detail === 'string' ? `: ${printable(detail)}` : ''
      reject(new CommandError(`${url} refused the connection with status ${response.statusCode}${reason}`))
    })
  })
}

function explainClose(code: number, reason: string): string {
  const known = Object.values(CLOSE_CODES).find((candidate) => candidate.code === code)
  return `closed with ${code}${reason === '' ? '' : ` (${printable(reason)})`}${known === undefined ? '' : `: ${known.when}`}`
}
