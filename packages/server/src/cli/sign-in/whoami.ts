/** `gatehouse whoami`: as whom a command acts on a server, and with which rights. */

import { isRight } from 'gatehouse-protocol'
import { AuthError, type User } from '../../../../client/src/index.ts'
import type { Arguments } from '../args.ts'
import { type Gate, withGate } from '../gate.ts'
import { printableLines, printTable } from '../output/table.ts'
import { readLogin } from './credentials.ts'
import { refusal } from './sign-in.ts'
import { decodeClaims } from './token-claims.ts'

export interface Identity {
  /** The id of the user, or that of a client that acts for itself. */
  readonly subject: string
  /** Undefined where the token does not grant the profile. */
  readonly username: string | undefined
  readonly name: string | undefined
  readonly client: string
  readonly roles: readonly string[]
  readonly scopes: readonly string[]
  readonly expiresAt: string
}

export function whoami(args: Arguments): Promise<void> {
  return withGate(args, async (gate) => print(gate.url, await readIdentity(gate), args))
}

function print(server: string, identity: Identity, args: Arguments): void {
  const json = JSON.stringify({ server, ...identity }, null, 2)
  if (args.has('--json')) return void process.stdout.write(`${printableLines(json)}\n`)
  const usesLogin = !args.has('--username') && !args.has('--token-file')
  const isRenewed = usesLogin && readLogin(server)?.refreshToken !== undefined
  printTable(
    ['user', formatName(identity)],
    [
      ['server', server],
      ['id', identity.subject],
      ['client', identity.client],
      ['roles', identity.roles.join(' ') || '-'],
      ['rights', rightsText(identity)],
      ['token', `expires at ${identity.expiresAt}${isRenewed ? ', and is then renewed' : ''}`],
    ],
  )
}

/** Asks the server, which refuses a token that is no longer valid. */
export async function readIdentity(gate: Gate): Promise<Identity> {
  const { preferred_username: username, name } = await readUser(gate)
  const { sub, client_id, role, scope, exp } = decodeClaims(await gate.auth.token())
  return {
    subject: String(sub),
    username: typeof username === 'string' ? username : undefined,
    name: typeof name === 'string' ? name : undefined,
    client: String(client_id),
    roles: Array.isArray(role) ? role.map(String) : [],
    scopes: String(scope ?? '')
      .split(' ')
      .filter((word) => word !== ''),
    expiresAt: new Date(Number(exp) * 1000).toISOString(),
  }
}

/** Nothing where the token does not grant the profile. */
async function readUser({ auth, url }: Gate): Promise<Partial<User>> {
  try {
    return await auth.user()
  } catch (error) {
    if (!(error instanceof AuthError)) throw error
    if (error.status === 403) return {}
    throw refusal(`${url} did not accept the token`, error)
  }
}

/** `alice (Alice Liddell)`, or the id where that is all that is known. */
export function formatName({ subject, username, name }: Identity): string {
  if (username === undefined) return subject
  return name === undefined || name === username ? username : `${username} (${name})`
}

export function rightsText({ scopes }: Identity): string {
  return scopes.filter(isRight).join(' ') || 'none; an administrator can grant rights through roles'
}
