/** Where a command takes its access token from: a file, a password, or the login of this user. */
import { readFile } from 'node:fs/promises'
import type { Arguments } from './args.ts'
import { loginToken, passwordLogin, requireIssuer, type TokenSource } from './client.ts'
import { UsageError } from './errors.ts'
import { askPassword, readPasswordLine } from './password.ts'

/** The client that the command line is registered as. */
const DEFAULT_CLIENT = 'gatehouse-cli'

/** For commands that take SIGN_IN_OPTIONS; without them the token is that of `gatehouse login`. */
export function tokenSource(server: string, args: Arguments): TokenSource {
  return optionalToken(server, args) ?? ((rejected) => loginToken(server, rejected))
}

/** Undefined when the options name neither a user nor a token. */
export function optionalToken(server: string, args: Arguments): (() => Promise<string>) | undefined {
  const [tokenFile, passwordFile] = [args.value('--token-file'), args.value('--password-file')]
  const [username, clientId] = [args.value('--username'), clientOf(args)]
  if (tokenFile !== undefined) return () => readToken(tokenFile, server)
  if (username === undefined) return undefined
  const readPassword = passwordSource(username, passwordFile)
  let password: string | undefined
  return async () => {
    password ??= await readPassword()
    return (await passwordLogin(server, { clientId, username, password })).accessToken
  }
}

/** For a command that reads nothing else from stdin: without a terminal the password comes from there, as for `user add`. */
export async function passwordOfLogin(username: string, file: string | undefined): Promise<string> {
  if (file !== undefined || process.stdin.isTTY) return passwordSource(username, file)()
  const password = await readPasswordLine()
  if (password === '')
    throw new UsageError('Without a terminal the password must be the first line of stdin or of --password-file FILE')
  return password
}

/** The password of --password-file, or what the user types. */
function passwordSource(username: string, file: string | undefined): () => Promise<string> {
  if (file !== undefined) return () => readFirstLine(file)
  if (!process.stdin.isTTY)
    throw new UsageError('Without a terminal the password must come from a file: --password-file FILE')
  return () => askPasswordOf(username)
}

export function clientOf(args: Arguments): string {
  return args.value('--client') ?? DEFAULT_CLIENT
}

export function askPasswordOf(username: string): Promise<string> {
  return askPassword(`Password of ${username}: `)
}

async function readToken(file: string, server: string): Promise<string> {
  const token = (await readFirstLine(file)).trim()
  if (token === '') throw new UsageError(`The first line of ${file} is empty: it must be the access token`)
  await requireIssuer(server, token, file)
  return token
}

async function readFirstLine(file: string): Promise<string> {
  const text = await readFile(file, 'utf8').catch(() => {
    throw new UsageError(`${file} cannot be read`)
  })
  return text.split(/\r?\n/, 1)[0] ?? ''
}
