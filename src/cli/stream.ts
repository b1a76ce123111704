/** `gatehouse stream`: a streaming session in the terminal, or in a pipe. */
import { readFile } from 'node:fs/promises'
import { Usage } from './command.ts'
import { readOptions } from './options.ts'
import { askPassword } from './password.ts'
import { pipeSession } from './stream-pipe.ts'
import { openStreamSession, type StreamSession, signInWithPassword } from './stream-session.ts'
import { terminalSession } from './stream-terminal.ts'

export async function stream(args: readonly string[]): Promise<void> {
  const options = examine(args)
  const session = await openStreamSession(options.address, options.version)
  try {
    await signIn(session, options)
    if (process.stdin.isTTY) await terminalSession(session, options)
    else process.exitCode = await pipeSession(session, options.wait)
  } finally {
    session.close()
  }
}

/** The server may be below a path; the address of its streaming service is as good as its own. */
const STREAMING_PART = /(\/platform)?\/*$/i

export interface StreamOptions {
  readonly address: string
  readonly version: string
  readonly client: string
  readonly username: string | undefined
  readonly passwordFile: string | undefined
  readonly tokenFile: string | undefined
  /** Milliseconds. */
  readonly wait: number
}

function examine(args: readonly string[]): StreamOptions {
  const { values, positionals } = parse(args)
  const [address = 'http://localhost:5080', surplus] = positionals
  if (surplus !== undefined) throw new Usage(`One address is enough: "${surplus}" is a second`)
  const url = URL.parse(address)
  if (url === null || !['http:', 'https:', 'ws:', 'wss:'].includes(url.protocol))
    throw new Usage(`"${address}" is not an address like http://localhost:5080`)
  const wait = Number(values.wait ?? '5') * 1000
  if (!(wait >= 0)) throw new Usage(`"${values.wait}" is not a number of seconds`)
  return {
    address: `${url.protocol.replace('ws', 'http')}//${url.host}${url.pathname.replace(STREAMING_PART, '')}`,
    version: values.version ?? '1.1',
    client: values.client ?? 'demo-cli',
    username: values.username,
    passwordFile: values['password-file'],
    tokenFile: values['token-file'],
    wait,
  }
}

const parse = (args: readonly string[]) =>
  readOptions(args, {
    username: { type: 'string' },
    'password-file': { type: 'string' },
    'token-file': { type: 'string' },
    client: { type: 'string' },
    version: { type: 'string' },
    wait: { type: 'string' },
  })

async function signIn(session: StreamSession, options: StreamOptions): Promise<void> {
  const { username, passwordFile, tokenFile, address, client } = options
  if (tokenFile !== undefined) return session.authenticate(await readToken(tokenFile))
  if (username === undefined) return
  if (passwordFile === undefined && !process.stdin.isTTY)
    throw new Usage('In a pipe the password comes from a file: --password-file FILE')
  const password =
    passwordFile === undefined ? await askPassword(`Password of ${username}: `) : await firstLine(passwordFile)
  await session.authenticate(await signInWithPassword(address, { client, username, password }))
}

async function readToken(file: string): Promise<string> {
  const token = (await firstLine(file)).trim()
  if (token === '') throw new Usage(`${file} holds no token: its first line is empty`)
  return token
}

async function firstLine(file: string): Promise<string> {
  const text = await readFile(file, 'utf8').catch(() => {
    throw new Usage(`${file} cannot be read`)
  })
  return text.split(/\r?\n/, 1)[0] ?? ''
}
