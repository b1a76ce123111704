/** Where a command takes its access token from: a file, a password, or the login of this user. */
import { readFile } from 'node:fs/promises'
import type { Arguments } from './args.ts'
import { loginToken, passwordToken } from './client.ts'
import { UsageError } from './errors.ts'
import { askPassword } from './password.ts'

/** For commands that take SIGN_IN_OPTIONS; without them the token is that of `gatehouse login`. */
export function tokenSource(server: string, args: Arguments): () => Promise<string> {
  return optionalToken(server, args) ?? (() => loginToken(server))
}

/** Undefined when the options name neither a user nor a token. */
export function optionalToken(server: string, args: Arguments): (() => Promise<string>) | undefined {
  const [tokenFile, passwordFile] = [args.value('--token-file'), args.value('--password-file')]
  const [username, clientId] = [args.value('--username'), clientOf(args)]
  if (tokenFile !== undefined) return () => readToken(tokenFile)
  if (username === undefined) return undefined
  if (passwordFile === undefined && !process.stdin.isTTY)
    throw new UsageError('Without a terminal the password must come from a file: --password-file FILE')
  let password: string | undefined
  return async () => {
    password ??= passwordFile === undefined ? await askPasswordOf(username) : await readFirstLine(passwordFile)
    return passwordToken(server, { clientId, username, password })
  }
}

export function clientOf(args: Arguments): string {
  return args.value('--client') ?? 'demo-cli'
}

export function askPasswordOf(username: string): Promise<string> {
  return askPassword(`Password of ${username}: `)
}

async function readToken(file: string): Promise<string> {
  const token = (await readFirstLine(file)).trim()
  if (token === '') throw new UsageError(`The first line of ${file} is empty: it must be the access token`)
  return token
}

async function readFirstLine(file: string): Promise<string> {
  const text = await readFile(file, 'utf8').catch(() => {
    throw new UsageError(`${file} cannot be read`)
  })
  return text.split(/\r?\n/, 1)[0] ?? ''
}
