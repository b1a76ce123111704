/** `gatehouse login` and `gatehouse logout`: the tokens for administering a running server. */
import { Usage } from '../command.ts'
import { readSettings } from '../settings.ts'
import { credentialsFile, readCredentials, writeCredentials } from './credentials.ts'
import { logIn, revoke } from './oauth.ts'

const USUAL_CLIENT = 'gatehouse-cli'

export async function login(args: readonly string[]): Promise<void> {
  const { server, options } = await readServer(args)
  const clientId = options.get('--client')?.[0] ?? USUAL_CLIENT
  const credentials = await logIn(server, clientId, ({ userCode, address }) =>
    process.stdout.write(`Open ${address}\nand confirm the code ${userCode}\n`),
  )
  writeCredentials(server, credentials)
  process.stdout.write(`Logged in to ${server}; the tokens are in ${credentialsFile()}\n`)
}

export async function logout(args: readonly string[]): Promise<void> {
  const { server } = await readServer(args)
  const credentials = readCredentials(server)
  if (credentials === undefined) throw new Usage(`Nobody is logged in to ${server}`)
  // Forgotten here first: a server that is away must not keep the tokens on this disk.
  writeCredentials(server, undefined)
  await revoke(server, credentials)
  process.stdout.write(`Logged out of ${server}\n`)
}

async function readServer(args: readonly string[]) {
  const { config, options, rest } = await readSettings(args, { '--client': 'value' })
  if (rest.length > 0) throw new Usage(`Not understood: "${rest.join(' ')}"`)
  if (config.server === '') throw new Usage('Name the server: --server https://gate.example.com, or GATEHOUSE_SERVER')
  return { server: config.server, options }
}
