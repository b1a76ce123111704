/** `gatehouse login` and `gatehouse logout`: the stored login of a user on a server. */
import type { Auth, GrantedTokens } from '../../../../client/src/index.ts'
import type { Arguments } from '../args.ts'
import { CommandError } from '../errors.ts'
import { createGate, explained, withGateTo } from '../gate.ts'
import { printable } from '../output/table.ts'
import { loadSettings } from '../settings.ts'
import { createLogin, credentialsFile, deleteLogin, readLogin, writeLogin } from './credentials.ts'
import { withCredentialsLocked } from './credentials-lock.ts'
import { serverAddress } from './server-address.ts'
import { clientOption, deviceAuth, loginAuth, passwordAuth, passwordOfLogin, passwordOption } from './sign-in.ts'
import { formatName, readIdentity, rightsText } from './whoami.ts'

export async function login(args: Arguments): Promise<void> {
  const server = await readServer(args)
  const requested = args.values('--scope').flatMap((text) => text.split(/\s+/))
  const auth = chooseAuth(args, requested.length === 0 ? undefined : requested.join(' '))
  await withGateTo(server, auth, async (gate) => {
    const tokens = await gate.auth.tokens()
    const identity = await readIdentity(gate)
    // The file has the logins to all servers: another command may be renewing one of them.
    await withCredentialsLocked(credentialsFile(), () => writeLogin(server, createLogin(clientOption(args), tokens)))
    const lines = [`Logged in to ${server} as ${formatName(identity)}.`, `Rights: ${rightsText(identity)}`]
    const missing = requested.filter((scope) => !identity.scopes.includes(scope))
    if (missing.length > 0) lines.push(`Not granted: ${missing.join(' ')}`)
    if (tokens.refreshToken === undefined)
      lines.push(`The login expires at ${identity.expiresAt}: the server issued no refresh token.`)
    lines.push(`The tokens are in ${credentialsFile()}`)
    process.stdout.write(lines.map((line) => `${printable(line)}\n`).join(''))
  })
}

/** With a password where the user is named, otherwise on a page of the server. */
function chooseAuth(args: Arguments, scope: string | undefined): Auth<GrantedTokens> {
  const [clientId, username] = [clientOption(args), args.value('--username')]
  const source = passwordOption(args)
  if (username !== undefined) {
    const password = () => passwordOfLogin(username, source)
    return passwordAuth({ clientId, username, password, scope })
  }
  return deviceAuth({ clientId, scope }, ({ userCode, urlComplete }) =>
    process.stdout.write(`Open ${printable(urlComplete)}\nand confirm the code ${printable(userCode)}\n`),
  )
}

export async function logout(args: Arguments): Promise<void> {
  const server = await readServer(args)
  if (readLogin(server) === undefined) throw new CommandError(`You are not logged in to ${server}`)
  const gate = createGate(server, loginAuth(server))
  try {
    await gate.auth.current()
    // Deleted here first: an unreachable server must not keep the tokens on this disk.
    await withCredentialsLocked(credentialsFile(), () => deleteLogin(server))
    await gate.auth.signOut()
  } catch (error) {
    throw explained(error)
  } finally {
    gate.close()
  }
  process.stdout.write(`Logged out of ${server}\n`)
}

/** The same key as every other command uses for the address. */
async function readServer(args: Arguments): Promise<string> {
  return serverAddress((await loadSettings(args)).config.server)
}
