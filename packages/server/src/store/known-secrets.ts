/** Finds users and clients that accept a secret that everybody can read, such as those of the demonstration. */
import type { Kysely } from 'kysely'
import { verifyPassword } from './accounts/password-hash.ts'
import { secretDigest } from './clients/clients.ts'
import type { Schema } from './database/schema.ts'

export interface KnownSecrets {
  readonly users: readonly { readonly username: string; readonly password: string }[]
  readonly clients: readonly { readonly id: string; readonly secret: string }[]
}

/** The names of those that accept one, as an operator reads them. Uses only what every version of the schema has. */
export async function findKnownSecrets(db: Kysely<Schema>, known: KnownSecrets): Promise<readonly string[]> {
  const names = known.users.map(({ username }) => username)
  const users = await db
    .selectFrom('users')
    .select(['username', 'password_hash'])
    .where('username', 'in', names)
    .execute()
  const digests = new Map(known.clients.map(({ id, secret }) => [secretDigest(id, secret), `the client ${id}`]))
  const secrets = await db
    .selectFrom('client_secrets')
    .select('digest')
    .where('digest', 'in', [...digests.keys()])
    .execute()
  const found: string[] = []
  for (const { username, password_hash: hash } of users) {
    const password = known.users.find((user) => user.username === username)?.password
    if (hash !== null && password !== undefined && (await verifyPassword(hash, password)))
      found.push(`the user ${username}`)
  }
  return [...found, ...secrets.flatMap(({ digest }) => digests.get(digest) ?? [])]
}
