/** Makes the changes of a plan: the tables first, since only they can fail, then everything of identity in one transaction. */
import type { Kysely } from 'kysely'
import type { Clock } from '../protocol/clock.ts'
import { createClients, secretDigest } from '../store/clients.ts'
import { createRoles } from '../store/roles.ts'
import type { Schema } from '../store/schema.ts'
import { createUsers } from '../store/users.ts'
import { BadDeclaration } from './bad-declaration.ts'
import { BadCsv, type CsvRow } from './csv.ts'
import type { Change } from './plan.ts'
import type { DeclarativeStores } from './state.ts'
import type { TablesPort } from './tables-port.ts'

export interface ApplyEnv {
  readonly db: Kysely<Schema>
  readonly clock: Clock
  readonly tables: TablesPort | undefined
  /** Argon2id, as a PHC string. */
  hashPassword(password: string): Promise<string>
  /** The rows that a table starts with. */
  rowsOf(table: string): AsyncIterable<CsvRow> | undefined
}

export async function apply(source: string, changes: readonly Change[], env: ApplyEnv): Promise<void> {
  // Hashing takes its time on purpose: not while the transaction keeps other writers waiting.
  const hashes = await hashPasswords(changes, env)
  const made = await applyTables(source, changes, env)
  try {
    await env.db.transaction().execute(async (tx) => {
      const stores = {
        roles: createRoles(tx),
        users: createUsers(tx, env.clock),
        clients: createClients(tx, env.clock),
      }
      for (const change of changes) await applyIdentity(change, stores, hashes)
    })
  } catch (error) {
    for (const name of made) await env.tables?.drop(name)
    throw error
  }
}

async function hashPasswords(changes: readonly Change[], env: ApplyEnv): Promise<ReadonlyMap<Change, string>> {
  const hashes = new Map<Change, string>()
  for (const change of changes) {
    if (change.action === 'remove' || change.what !== 'user' || change.password === undefined) continue
    const { kind, value } = change.password
    hashes.set(change, kind === 'hash' ? value : await env.hashPassword(value))
  }
  return hashes
}

/** Returns the tables that it made; when one fails, those made before it are dropped again. */
async function applyTables(source: string, changes: readonly Change[], env: ApplyEnv): Promise<string[]> {
  const { tables } = env
  const made: string[] = []
  if (tables === undefined) return made
  try {
    for (const change of changes) {
      if (change.what !== 'table') continue
      if (change.action === 'remove') await tables.drop(change.name)
      else if (change.action === 'update') await tables.change(change.target)
      else {
        await tables.create(change.target, env.rowsOf(change.name))
        made.push(change.name)
      }
    }
  } catch (error) {
    for (const name of made) await tables.drop(name)
    if (!(error instanceof BadCsv)) throw error
    throw new BadDeclaration(source, [{ path: 'tables', text: error.message }])
  }
  return made
}

async function applyIdentity(
  change: Change,
  { roles, users, clients }: DeclarativeStores,
  hashes: ReadonlyMap<Change, string>,
): Promise<void> {
  switch (change.what) {
    case 'role':
      return change.action === 'remove' ? roles.remove(change.name) : roles.put(change.target)
    case 'user':
      return applyUser(change, users, hashes.get(change))
    case 'client':
      return change.action === 'remove' ? clients.remove(change.name) : putClient(change, clients)
    case 'table':
      return
  }
}

async function applyUser(
  change: Extract<Change, { what: 'user' }>,
  users: DeclarativeStores['users'],
  passwordHash: string | undefined,
): Promise<void> {
  if (change.action === 'create') {
    await users.create({ ...change.target, passwordHash, declaredDigest: change.password?.digest })
    return
  }
  const user = await users.findByUsername(change.name)
  // Another node may have removed the user since the plan was made.
  if (user === undefined) return
  if (change.action === 'remove') return users.remove(user.id)
  const { username, profile, disabled, roles } = change.target
  await users.update(user.id, {
    username,
    profile,
    disabled,
    ...(change.password === undefined ? {} : { declaredDigest: change.password.digest }),
  })
  await users.setRoles(user.id, roles)
  if (passwordHash !== undefined) await users.setPassword(user.id, passwordHash)
}

async function putClient(
  change: Extract<Change, { what: 'client'; action: 'create' | 'update' }>,
  clients: DeclarativeStores['clients'],
): Promise<void> {
  const { name, target, secret } = change
  await clients.put(target)
  const wanted = secret === undefined ? undefined : secretDigest(name, secret)
  const declared = (await clients.find(name))?.secrets.filter((candidate) => candidate.declared) ?? []
  for (const { id, digest } of declared) {
    if (digest !== wanted) await clients.removeSecret(name, id)
  }
  if (secret !== undefined && !declared.some(({ digest }) => digest === wanted))
    await clients.addSecret(name, secret, { declared: true })
}
