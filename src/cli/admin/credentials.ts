/** The tokens of `gatehouse login`, in a file that only its owner can read. */
import { chmodSync, mkdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import { Usage } from '../command.ts'

export interface Credentials {
  readonly clientId: string
  readonly accessToken: string
  /** Milliseconds. */
  readonly expiresAt: number
  readonly refreshToken: string | undefined
}

export function credentialsFile(environment: NodeJS.ProcessEnv = process.env): string {
  const base = environment.XDG_CONFIG_HOME ?? join(homedir(), '.config')
  return join(base, 'gatehouse', 'credentials.json')
}

export function readCredentials(server: string, file = credentialsFile()): Credentials | undefined {
  return readAll(file)[server]
}

export function writeCredentials(server: string, credentials: Credentials | undefined, file = credentialsFile()): void {
  const { [server]: _replaced, ...others } = readAll(file)
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
  const temporary = `${file}.${process.pid}.tmp`
  const all = credentials === undefined ? others : { ...others, [server]: credentials }
  writeFileSync(temporary, `${JSON.stringify(all, null, 2)}\n`, { mode: 0o600 })
  chmodSync(temporary, 0o600)
  renameSync(temporary, file)
}

function readAll(file: string): Record<string, Credentials> {
  let text: string
  try {
    if ((statSync(file).mode & 0o077) !== 0)
      throw new Usage(`Others can read ${file}: chmod 600 it, and log in again if you do not know who has.`)
    text = readFileSync(file, 'utf8')
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return {}
    throw error
  }
  const all = parse(text)
  if (!isByServer(all)) throw new Usage(`${file} is damaged: remove it and log in again.`)
  return all
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** What `writeCredentials` writes. */
function isByServer(value: unknown): value is Record<string, Credentials> {
  return isObject(value) && Object.values(value).every(isCredentials)
}

function isCredentials(value: unknown): value is Credentials {
  return (
    isObject(value) &&
    typeof value.clientId === 'string' &&
    typeof value.accessToken === 'string' &&
    typeof value.expiresAt === 'number' &&
    ['string', 'undefined'].includes(typeof value.refreshToken)
  )
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
