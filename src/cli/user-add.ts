/** `gatehouse user add`: creates a user; the password comes from a prompt or from stdin, never from an argument. */
import { withData } from '../offline.ts'
import { nearest } from '../protocol/nearest.ts'
import { hashPassword, LONGEST_PASSWORD, SHORTEST_PASSWORD } from '../store/password-hash.ts'
import type { Stores } from '../store/stores.ts'
import { Usage } from './command.ts'
import { readPassword } from './password.ts'
import { readSettings } from './settings.ts'

export async function userAdd(args: readonly string[]): Promise<void> {
  const { config, options, rest } = await readSettings(args, {
    '--role': 'values',
    '--name': 'value',
    '--email': 'value',
  })
  const [username, surplus] = rest
  if (username === undefined || username.trim() === '' || surplus !== undefined)
    throw new Usage('user add takes one USERNAME; the password is asked for')
  const roles = options.get('--role') ?? []
  await withData(config, async ({ stores, audit }) => {
    await checkRoles(roles, stores)
    const password = await readPassword(`Password for ${username}: `)
    if (password.length < SHORTEST_PASSWORD || password.length > LONGEST_PASSWORD)
      throw new Usage(`A password has ${SHORTEST_PASSWORD} to ${LONGEST_PASSWORD} characters`)
    const id = await stores.users.create({
      username,
      passwordHash: await hashPassword(password),
      roles: [...new Set(roles)],
      profile: claims({ name: options.get('--name')?.[0], email: options.get('--email')?.[0] }),
    })
    audit.record({ event: 'user.created', target: id, details: { source: 'command line' } })
    process.stdout.write(`User ${username} was added as ${id}.\n`)
  })
}

async function checkRoles(wanted: readonly string[], { roles }: Stores): Promise<void> {
  const known = (await roles.list()).map(({ name }) => name)
  for (const role of wanted) {
    if (known.includes(role)) continue
    const near = nearest(role, known)
    const hint =
      near === undefined
        ? `; there are ${known.join(', ') || 'none yet: a declarative file makes them'}`
        : `; did you mean "${near}"?`
    throw new Usage(`Unknown role "${role}"${hint}`)
  }
}

function claims(given: Readonly<Record<string, string | undefined>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(given).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  )
}
