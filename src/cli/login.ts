/** `gatehouse login` and `gatehouse logout`: the stored login of a user on a server. */
import type { Arguments } from './args.ts'
import { deviceLogin, passwordLogin, revokeLogin, serverAddress } from './client.ts'
import { credentialsFile, deleteLogin, type Login, readLogin, writeLogin } from './credentials.ts'
import { CommandError } from './errors.ts'
import { loadSettings } from './settings.ts'
import { clientOf, passwordOfLogin } from './sign-in.ts'
import { printable } from './table.ts'
import { identityOf, nameOf, rightsText } from './whoami.ts'

export async function login(args: Arguments): Promise<void> {
  const server = await readServer(args)
  const requested = args.values('--scope').flatMap((text) => text.split(/\s+/))
  const tokens = await obtain(server, args, requested.length === 0 ? undefined : requested.join(' '))
  const identity = await identityOf(server, tokens.accessToken)
  writeLogin(server, tokens)
  const lines = [`Logged in to ${server} as ${nameOf(identity)}.`, `Rights: ${rightsText(identity)}`]
  const missing = requested.filter((scope) => !identity.scopes.includes(scope))
  if (missing.length > 0) lines.push(`Not granted: ${missing.join(' ')}`)
  if (tokens.refreshToken === undefined)
    lines.push(`The login ends at ${new Date(tokens.expiresAt).toISOString()}: the server gave no refresh token.`)
  lines.push(`The tokens are in ${credentialsFile()}`)
  process.stdout.write(lines.map((line) => `${printable(line)}\n`).join(''))
}

/** With a password where the user is named, otherwise on a page of the server. */
async function obtain(server: string, args: Arguments, scope: string | undefined): Promise<Login> {
  const [clientId, username] = [clientOf(args), args.value('--username')]
  if (username !== undefined) {
    const password = await passwordOfLogin(username, args.value('--password-file'))
    return passwordLogin(server, { clientId, username, password, scope })
  }
  return deviceLogin(server, { clientId, scope }, ({ userCode, address }) =>
    process.stdout.write(`Open ${address}\nand confirm the code ${userCode}\n`),
  )
}

export async function logout(args: Arguments): Promise<void> {
  const server = await readServer(args)
  const tokens = readLogin(server)
  if (tokens === undefined) throw new CommandError(`You are not logged in to ${server}`)
  // Deleted here first: an unreachable server must not keep the tokens on this disk.
  deleteLogin(server)
  await revokeLogin(server, tokens)
  process.stdout.write(`Logged out of ${server}\n`)
}

/** The same key as every other command uses for the address. */
async function readServer(args: Arguments): Promise<string> {
  return serverAddress((await loadSettings(args)).config.server)
}
