/** `gatehouse login` and `gatehouse logout`: the stored login of a user on a server. */
import type { Arguments } from './args.ts'
import { deviceLogin, revokeLogin } from './client.ts'
import { credentialsFile, deleteLogin, readLogin, writeLogin } from './credentials.ts'
import { CommandError, UsageError } from './errors.ts'
import { loadSettings } from './settings.ts'

export async function login(args: Arguments): Promise<void> {
  const server = await readServer(args)
  const tokens = await deviceLogin(server, args.value('--client') ?? 'gatehouse-cli', ({ userCode, address }) =>
    process.stdout.write(`Open ${address}\nand confirm the code ${userCode}\n`),
  )
  writeLogin(server, tokens)
  process.stdout.write(`Logged in to ${server}. The tokens are in ${credentialsFile()}\n`)
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

async function readServer(args: Arguments): Promise<string> {
  const { server } = (await loadSettings(args)).config
  if (server === '') throw new UsageError('Name the server: --server https://gate.example.com, or GATEHOUSE_SERVER')
  return server
}
