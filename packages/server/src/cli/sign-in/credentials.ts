/** The logins of `gatehouse login`, in a file that only its owner can read. */
import { chmodSync, mkdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import type { TokenStorage, Tokens } from '../../../../client/src/index.ts'
import { CommandError } from '../errors.ts'
import { asObject, parseJson } from '../output/json.ts'
import { withCredentialsLocked } from './credentials-lock.ts'
import { decodeClaims } from './token-claims.ts'

export interface Login {
  readonly clientId: string
  readonly accessToken: string
  /** Milliseconds since the epoch: from then on the token is renewed instead of used. */
  readonly expiresAt: number
  readonly refreshToken: string | undefined
}

export function credentialsFile(environment: NodeJS.ProcessEnv = process.env): string {
  const base = environment.XDG_CONFIG_HOME ?? join(homedir(), '.config')
  return join(base, 'gatehouse', 'credentials.json')
}

export function readLogin(server: string, file = credentialsFile()): Login | undefined {
  return readAll(file).get(server)
}

/** The servers that have a login. */
export function knownServers(file = credentialsFile()): string[] {
  return [...readAll(file).keys()]
}

export function writeLogin(server: string, login: Login, file = credentialsFile()): void {
  writeAll(readAll(file).set(server, login), file)
}

export function deleteLogin(server: string, file = credentialsFile()): void {
  const all = readAll(file)
  all.delete(server)
  writeAll(all, file)
}

export function createLogin(clientId: string, { accessToken, renewAt, refreshToken }: Tokens): Login {
  return { clientId, accessToken, expiresAt: renewAt ?? Number.MAX_SAFE_INTEGER, refreshToken }
}

/** The login to a server as the storage of the client library, which the commands of a user share. `begun` is the one they began with. */
export function loginStorage(server: string, begun: Login): TokenStorage {
  const { clientId } = begun
  const isOurs = (login: Login) => login.clientId === clientId && readSubject(login) === readSubject(begun)
  return {
    getItem() {
      const login = readLogin(server)
      if (login === undefined) return null
      // A command never continues with the rights of another user.
      if (!isOurs(login))
        throw new CommandError(
          `Another user or client has logged in to ${server} since this command began. Run it again to use that login.`,
        )
      const { accessToken, expiresAt: renewAt, refreshToken } = login
      return JSON.stringify({ accessToken, renewAt, refreshToken } satisfies Tokens)
    },
    // A renewal that overlaps another login or a logout must not undo it.
    setItem(_key, tokens) {
      const login = readLogin(server)
      if (login !== undefined && isOurs(login)) writeLogin(server, createLogin(clientId, JSON.parse(tokens)))
    },
    // Only a logout deletes it: until then each command can say that it is no longer valid.
    removeItem() {},
    // A refresh token is valid once: of several commands one refreshes, and the others use what it got.
    lock: (_key, act) => withCredentialsLocked(credentialsFile(), act),
  }
}

/** The same login with tokens for agents, which stay in memory: other commands cannot use them. Its refresh token is replaced in the file. */
export function agentStorage(server: string, login: TokenStorage): TokenStorage {
  let own: Tokens | undefined
  return {
    ...login,
    async getItem(key) {
      const kept = await login.getItem(key)
      if (kept === null) return null
      const { refreshToken }: Tokens = JSON.parse(kept)
      const { accessToken = '', renewAt = 0 } = own ?? {}
      return JSON.stringify({ accessToken, renewAt, refreshToken } satisfies Tokens)
    },
    async setItem(key, tokens) {
      own = JSON.parse(tokens)
      const stored = readLogin(server)
      if (stored === undefined || own === undefined) return
      const { accessToken, expiresAt: renewAt } = stored
      const { refreshToken } = own
      await login.setItem(key, JSON.stringify({ accessToken, renewAt, refreshToken } satisfies Tokens))
    },
  }
}

function readSubject({ accessToken }: Login): unknown {
  return decodeClaims(accessToken).sub
}

function writeAll(logins: ReadonlyMap<string, Login>, file: string): void {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
  const temporary = `${file}.${process.pid}.tmp`
  writeFileSync(temporary, `${JSON.stringify(Object.fromEntries(logins), null, 2)}\n`, { mode: 0o600 })
  chmodSync(temporary, 0o600)
  renameSync(temporary, file)
}

function readAll(file: string): Map<string, Login> {
  let text: string
  try {
    if ((statSync(file).mode & 0o077) !== 0)
      throw new CommandError(`Other users can read ${file}: run "chmod 600 ${file}" and log in again.`)
    text = readFileSync(file, 'utf8')
  } catch (error) {
    if (hasErrorCode(error, 'ENOENT')) return new Map()
    throw error
  }
  const logins = parseJson(text)
  if (typeof logins !== 'object' || logins === null || Array.isArray(logins)) throw damaged(file)
  return new Map(
    Object.entries(logins).map(([server, login]) => {
      if (!isLogin(login)) throw damaged(file)
      return [server, login]
    }),
  )
}

function hasErrorCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code
}

function damaged(file: string): CommandError {
  return new CommandError(`${file} is damaged: remove it and log in again.`)
}

function isLogin(value: unknown): value is Login {
  const { clientId, accessToken, expiresAt, refreshToken } = asObject(value)
  return (
    typeof clientId === 'string' &&
    typeof accessToken === 'string' &&
    typeof expiresAt === 'number' &&
    ['string', 'undefined'].includes(typeof refreshToken)
  )
}
