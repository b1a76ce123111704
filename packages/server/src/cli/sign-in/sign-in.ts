/** Where a command takes its tokens from, as sources of the client library: a file, a password, a device, or the login. */
import { readFile } from 'node:fs/promises'
import { userInfo } from 'node:os'
import { AGENT_PATH } from 'gatehouse-protocol'
import {
  type Auth,
  type AuthEnv,
  AuthError,
  type DevicePrompt,
  device,
  GrantedTokens,
  password,
  type Tokens,
} from '../../../../client/src/index.ts'
import type { Arguments } from '../args.ts'
import { CommandError, UsageError } from '../errors.ts'
import { printable } from '../output/table.ts'
import { programName } from '../program.ts'
import { provenIfNeeded } from './bound-client.ts'
import { agentStorage, knownServers, loginStorage, readLogin } from './credentials.ts'
import { askPassword, readPasswordLine } from './password.ts'
import { decodeClaims } from './token-claims.ts'

/** The client that the command line is registered as. */
const DEFAULT_CLIENT = 'gatehouse-cli'
const SECOND_FACTOR_HINT = `a user with a second factor must log in on a page: run "${programName()} login" without --username`

/** For commands that take SIGN_IN_OPTIONS; without them the tokens are those of `gatehouse login`. */
export function chooseAuth(server: string, args: Arguments): Auth<GrantedTokens> {
  return optionalAuth(args) ?? loginAuth(server)
}

/** As above, with tokens for agents (RFC 8707): a stored login gets no more by them than agents may have. */
export function chooseAgentAuth(server: string, args: Arguments): Auth<GrantedTokens> {
  const resource = `${server}${AGENT_PATH}`
  return optionalAuth(args, resource) ?? loginAuth(server, resource)
}

/** Undefined when the options name neither a user nor a token. */
export function optionalAuth(args: Arguments, resource?: string): Auth<GrantedTokens> | undefined {
  const tokenFile = args.value('--token-file')
  const [username, clientId] = [args.value('--username'), clientOption(args)]
  const { file, isStdin } = passwordOption(args)
  if (tokenFile !== undefined) return tokenFileAuth(tokenFile)
  if (username === undefined) return undefined
  const password = isStdin ? passwordOfStdin : passwordSource(username, file)
  return passwordAuth({ clientId, username, password, resource })
}

export interface PasswordOption {
  readonly file: string | undefined
  readonly isStdin: boolean
}

/** Where the options say that the password is. */
export function passwordOption(args: Arguments): PasswordOption {
  const file = args.value('--password-file')
  const isStdin = args.has('--password-stdin')
  if (isStdin && !args.has('--username')) throw new UsageError('--password-stdin needs --username')
  if (isStdin && file !== undefined) throw new UsageError('Give --password-file or --password-stdin, not both')
  return { file, isStdin }
}

/** For commands that read something else from stdin, if they do so now. */
export function requireFreeStdin(args: Arguments, what: string): void {
  if (args.has('--password-stdin'))
    throw new UsageError(`With --password-stdin, stdin is the password and cannot be ${what} too`)
}

/** The login of this user, renewed by one of all commands that run. */
export function loginAuth(server: string, resource?: string): Auth<GrantedTokens> {
  const login = readLogin(server)
  const command = `${programName()} login --server ${server}`
  if (login === undefined) {
    const others = knownServers()
    const known = others.length === 0 ? '' : ` (but to ${others.join(', ')}: choose such a server with --server)`
    throw new CommandError(`You are not logged in to ${server}${known}. Run: ${command}`)
  }
  const { clientId, refreshToken } = login
  const end = refreshToken === undefined ? 'The login has expired' : 'The login is no longer valid'
  const stored = loginStorage(server, login)
  const storage = resource === undefined ? stored : agentStorage(server, stored)
  const source: Auth<GrantedTokens> = (env) =>
    new GrantedTokens(env, { clientId, resource, storage }, () => {
      throw new CommandError(`${end}. Run: ${command}`)
    })
  return provenIfNeeded(source, decodeClaims(login.accessToken).cnf !== undefined)
}

export interface PasswordSignIn {
  readonly clientId: string
  readonly username: string
  /** Called once; the password is kept for later sign-ins. */
  readonly password: () => Promise<string>
  /** Without it: everything that the client may have and the user holds. */
  readonly scope?: string | undefined
  readonly resource?: string | undefined
}

export function passwordAuth({ username, password: read, ...client }: PasswordSignIn): Auth<GrantedTokens> {
  let given: Promise<string> | undefined
  const source = password({
    ...client,
    username,
    password() {
      given ??= read()
      return given
    },
  })
  const what = `The server did not sign in ${username}`
  return startedBy(source, client, (error) => {
    const refused = refusal(what, error)
    // The server gives every cause the same reply, so that a guesser learns nothing from it.
    return error.code === 'invalid_grant' ? new CommandError(`${refused.message} (${SECOND_FACTOR_HINT})`) : refused
  })
}

export function deviceAuth(
  client: Pick<PasswordSignIn, 'clientId' | 'scope' | 'resource'>,
  show: (prompt: DevicePrompt) => void,
): Auth<GrantedTokens> {
  let isShown = false
  const source = device({
    ...client,
    prompt(prompt) {
      isShown = true
      show(prompt)
    },
  })
  const what = () =>
    isShown ? 'The login was refused' : `The server refused a device login of the client ${client.clientId}`
  return startedBy(source, client, (error) => refusal(what(), error))
}

/** The tokens of another source, with its refusals explained. */
function startedBy(
  source: Auth<GrantedTokens>,
  { clientId, resource }: Pick<PasswordSignIn, 'clientId' | 'resource'>,
  refused: (error: AuthError) => Error,
): Auth<GrantedTokens> {
  return provenIfNeeded((env) => new GrantedTokens(env, { clientId, resource }, () => start(env)))

  async function start(env: AuthEnv): Promise<Tokens> {
    try {
      return await source(env).tokens()
    } catch (error) {
      if (!(error instanceof AuthError)) throw error
      const explained = refused(error)
      const hint = findHint(error.code, clientId)
      throw hint === undefined ? explained : new CommandError(`${explained.message}\nhint: ${hint}`)
    }
  }
}

function findHint(code: string, clientId: string): string | undefined {
  const grants = '--grant device_code --grant refresh_token'
  const command = (more: string) =>
    `${programName()} client add ${clientId} --public ${grants}${more} --scope "openid profile offline_access Platform/Market"`
  if (code === 'invalid_client')
    return `is the client ${clientId} registered, and enabled? ${clientId === DEFAULT_CLIENT ? 'The setting cli_client of the server may be false. ' : ''}To register it, on the machine with the data: ${command('')}`
  if (code === 'unauthorized_client')
    return `the client ${clientId} is not registered for this grant: --username needs the password grant, and a login without it the device grant. To register it with both, on the machine with the data: ${command(' --grant password')}`
  return undefined
}

/** Of an OAuth error (RFC 6749 §5.2); others speak for themselves. */
export function refusal(what: string, error: AuthError): Error {
  if (error.code === 'expired_token') return new CommandError('The code has expired. Log in again.')
  const { error: code, error_description: description = '' } = error.details
  return typeof code === 'string' ? new CommandError(printable(`${what}: ${code} ${description}`.trim())) : error
}

/** A token that was read from a file; it is read again when the server no longer accepts it. */
function tokenFileAuth(file: string): Auth<GrantedTokens> {
  return (env) =>
    new GrantedTokens(env, { clientId: '' }, async () => {
      const accessToken = (await readFirstLine(file)).trim()
      if (accessToken === '') throw new UsageError(`The first line of ${file} is empty: it must be the access token`)
      await requireIssuer(env, accessToken, file)
      return { accessToken }
    })
}

/** Whether the token may be sent to the server: a token is for its issuer alone. */
async function requireIssuer(env: AuthEnv, accessToken: string, file: string): Promise<void> {
  const { iss } = decodeClaims(accessToken)
  // A token that cannot be read says nothing: then the server must at least be an issuer.
  if (typeof iss !== 'string') return void (await env.endpoint('token'))
  if (iss !== env.issuer)
    throw new CommandError(
      `The token in ${file} was issued by ${printable(iss)}, so it was not sent to ${env.issuer}: use the address of its issuer.`,
    )
}

/** For a command that reads nothing else from stdin: without a terminal the password comes from there, as for `user add`. */
export async function passwordOfLogin(username: string, { file, isStdin }: PasswordOption): Promise<string> {
  if (file !== undefined || (process.stdin.isTTY && !isStdin)) return passwordSource(username, file)()
  return passwordOfStdin()
}

async function passwordOfStdin(): Promise<string> {
  const password = await readPasswordLine()
  if (password === '')
    throw new UsageError('Without a terminal the password must be the first line of stdin or of --password-file FILE')
  return password
}

/** The password of --password-file, or what the user types. */
function passwordSource(username: string, file: string | undefined): () => Promise<string> {
  if (file !== undefined) return () => readFirstLine(file)
  if (!process.stdin.isTTY)
    throw new UsageError('Without a terminal the password comes from --password-file FILE or --password-stdin')
  return () => askUserPassword(username)
}

export function clientOption(args: Arguments): string {
  return args.value('--client') ?? DEFAULT_CLIENT
}

export function askUserPassword(username: string): Promise<string> {
  return askPassword(`Password of ${username}: `)
}

async function readFirstLine(file: string): Promise<string> {
  const text = await readFile(file, 'utf8').catch((error) => {
    throw new UsageError(`${file} cannot be read by the user ${userInfo().username} (${error.code})`)
  })
  return text.split(/\r?\n/, 1)[0] ?? ''
}
