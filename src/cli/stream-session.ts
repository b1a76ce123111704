/** One streaming connection of the terminal client: sends, receives, signs in. */
import { text } from 'node:stream/consumers'
import { WebSocket } from 'ws'
import { CLOSE_CODES } from '../protocol/close-codes.ts'
import { STREAM_PATH } from '../protocol/envelope.ts'
import { Usage } from './command.ts'
import { printable } from './printable.ts'
import { membersOf } from './stream-expectations.ts'

export interface StreamSession {
  readonly address: string
  /** Sends the text as it is. */
  send(text: string): void
  /** Receives the text of every message from now on; one listener at a time. */
  onMessage(listener: (text: string) => void): void
  /** Resolves when the connection has ended, with what to tell the user. */
  readonly ended: Promise<{ readonly code: number; readonly text: string }>
  /** Signs in with an access token; throws when it is rejected. */
  authenticate(accessToken: string): Promise<void>
  close(): void
}

/** Negative, so that it is none of those that a user of the terminal gets. */
const SIGN_IN_ID = '"TransactionID":-1789562'

export async function openStreamSession(address: string, version: string): Promise<StreamSession> {
  const url = `${address.replace(/^http/, 'ws')}${STREAM_PATH}?version=${encodeURIComponent(version)}`
  const socket = new WebSocket(url, ['PlatformJson'], { handshakeTimeout: 10_000 })
  const early: string[] = []
  let listener = (text: string): void => void early.push(text)
  socket.on('message', (data) => listener(data.toString()))
  const ended = new Promise<{ code: number; text: string }>((resolve) => {
    socket.on('close', (code, reason) => resolve({ code, text: explainClose(code, reason.toString()) }))
  })
  await opened(socket, url)
  socket.on('error', () => {})

  return {
    address,
    ended,
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
      const text = await Promise.race([reply, ended.then((end) => end.text)])
      listener = usual
      if (!text.includes('"Result":"Success"')) throw new Usage(`The server did not accept the token: ${text}`)
    },
    close: () => socket.close(CLOSE_CODES.normal.code),
  }
}

function opened(socket: WebSocket, url: string): Promise<void> {
  return new Promise((resolve, reject) => {
    socket.once('open', resolve)
    socket.once('error', (error) => reject(new Usage(`${url} cannot be reached: ${error.message}`)))
    socket.once('unexpected-response', async (_request, response) => {
      const { detail } = membersOf(await text(response).catch(() => ''))
      const why = typeof detail === 'string' ? `: ${printable(detail)}` : ''
      reject(new Usage(`${url} refused the connection with status ${response.statusCode}${why}`))
    })
  })
}

function explainClose(code: number, reason: string): string {
  const known = Object.values(CLOSE_CODES).find((candidate) => candidate.code === code)
  return `closed with ${code}${reason === '' ? '' : ` (${printable(reason)})`}${known === undefined ? '' : `: ${known.when}`}`
}

export interface Credentials {
  readonly client: string
  readonly username: string
  readonly password: string
}

/** RFC 6749 §4.3 at the token endpoint that the server's discovery document names. */
export async function signInWithPassword(
  address: string,
  { client, username, password }: Credentials,
): Promise<string> {
  const discovery = await fetchMembers(`${address}/.well-known/openid-configuration`)
  const endpoint = String(discovery.token_endpoint ?? `${address}/connect/token`)
  const body = new URLSearchParams({ grant_type: 'password', client_id: client, username, password })
  const reply = await fetchMembers(endpoint, { method: 'POST', body, headers: { accept: 'application/json' } })
  if (typeof reply.access_token === 'string') return reply.access_token
  const { error = 'no access token', error_description: why = '' } = reply
  throw new Usage(`The server did not sign ${username} in: ${error} ${why}`.trim())
}

async function fetchMembers(address: string, request: RequestInit = {}): Promise<Record<string, unknown>> {
  const response = await fetch(address, request).catch((error: unknown) => {
    throw new Usage(`${address} cannot be reached: ${error instanceof Error ? error.message : error}`)
  })
  const members: unknown = await response.json().catch(() => ({}))
  return typeof members === 'object' && members !== null ? { ...members } : {}
}
