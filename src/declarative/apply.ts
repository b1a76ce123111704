/** Makes the changes of a plan: the tables first, since only they can fail, then everything of identity in one transaction. */

import type { Clock } from '../protocol/clock.ts'
import { Refusal } from '../protocol/refusal.ts'
import { toClient } from '../store/client-metadata.ts'
import { secretDigest } from '../store/clients.ts'
import type { Database } from '../store/database.ts'
import { createStores, type Stores } from '../store/stores.ts'
import { createTakeBack, type TakeBack } from '../store/take-back.ts'
import { transact } from '../store/transaction.ts'
import { BadDeclaration } from './bad-declaration.ts'
import { BadCsv, type CsvRow } from './csv.ts'
import type { Change } from './plan.ts'
import { BEING_FILLED, type TablesPort } from './tables-port.ts'
import type { TableTarget } from './targets.ts'

export interface ApplyEnv {
  readonly database: Database
  readonly clock: Clock
  readonly tables: TablesPort | undefined
  /** Argon2id, as a PHC string. */
  hashPassword(password: string): Promise<string>
  /** The rows that a table starts with. */
  rowsOf(table: string): AsyncIterable<CsvRow> | undefined
  /** Where in the file the rows of a table are named. */
  pathOf(table: string): string
}

export async function apply(source: string, changes: readonly Change[], env: ApplyEnv): Promise<void> {
  // Hashing takes its time on purpose: not while the transaction keeps other writers waiting.
  const hashes = await hashPasswords(changes, env)
  const made = await applyTables(source, changes, env)
  try {
    await transact(env.database.db, async (db) => {
      await applyIdentity(changes, createStores({ ...env.database, db }, env.clock), hashes, env.clock)
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
  for (const change of changes) {
    if (change.what !== 'table') continue
    try {
      if (change.action === 'remove') await tables.drop(change.name)
      else if (change.action === 'update') await tables.change(change.target)
      else {
        await createTable(change.target, env.rowsOf(change.name), tables)
        made.push(change.name)
      }
    } catch (error) {
      for (const name of made) await tables.drop(name)
      if (!(error instanceof BadCsv || error instanceof Refusal)) throw error
      throw new BadDeclaration(source, [{ path: env.pathOf(change.name), text: error.message }])
    }
  }
  return made
}

async function createTable(
  table: TableTarget,
  rows: AsyncIterable<CsvRow> | undefined,
  tables: TablesPort,
): Promise<void> {
  const existing = (await tables.list()).find(({ name }) => name.toLowerCase() === table.name.toLowerCase())
  // Left behind by a process that died while it filled the table.
  if (existing?.description === BEING_FILLED) await tables.drop(existing.name)
  if (rows === undefined) return tables.create(table, undefined)
  await tables.create({ ...table, description: BEING_FILLED }, rows)
  await tables.change(table)
}

/** What the changes take back is in the same transaction: a crash leaves no user disabled with tokens that live on. */
async function applyIdentity(
  changes: readonly Change[],
  stores: Stores,
  hashes: ReadonlyMap<Change, string>,
  clock: Clock,
): Promise<void> {
  const takeBack = createTakeBack({ grants: stores.grants, publish: stores.events.append, clock })
  const regranted = new Set<string>()
  for (const change of changes) {
    switch (change.what) {
      case 'role':
        for (const userId of await stores.roles.holders(change.name)) regranted.add(userId)
        await (change.action === 'remove' ? stores.roles.remove(change.name) : stores.roles.put(change.target))
        break
      case 'user': {
        const userId = await applyUser(change, stores.users, hashes.get(change), takeBack)
        if (userId !== undefined && change.action === 'update') regranted.add(userId)
        break
      }
      case 'client':
        await applyClient(change, stores, takeBack)
        break
      case 'table':
        break
    }
  }
  for (const userId of regranted) {
    const user = await stores.users.findById(userId)
    if (user !== undefined) await takeBack.rights(user)
  }
}

/** Returns the user's identifier; undefined when another node has removed the user since the plan was made. */
async function applyUser(
  change: Extract<Change, { what: 'user' }>,
  users: Stores['users'],
  passwordHash: string | undefined,
  takeBack: TakeBack,
): Promise<string | undefined> {
  if (change.action === 'create')
    return users.create({ ...change.target, passwordHash, declaredDigest: change.password?.digest })
  const user = await users.findByUsername(change.name)
  if (user === undefined) return undefined
  if (change.action === 'remove') {
    await users.remove(user.id)
  } else {
    const { username, profile, disabled, roles } = change.target
    const { password } = change
    await users.update(user.id, { username, profile, disabled, ...(password && { declaredDigest: password.digest }) })
    await users.setRoles(user.id, roles)
    if (passwordHash !== undefined) await users.setPassword(user.id, passwordHash)
  }
  if (change.action === 'remove' || change.target.disabled || passwordHash !== undefined) await takeBack.user(user.id)
  return user.id
}

async function applyClient(
  change: Extract<Change, { what: 'client' }>,
  { clients, events }: Stores,
  takeBack: TakeBack,
): Promise<void> {
  const { name } = change
  if (change.action === 'remove') {
    await clients.remove(name)
  } else {
    await clients.put(change.target)
    await replaceSecret(name, change.secret, clients)
  }
  if (change.action === 'remove' || change.target.disabled === true) await takeBack.client(name)
  else await takeBack.clientScopes(name, toClient(change.target, []).scopes)
  await events.append({ kind: 'clients-changed', clientId: name })
}

/** Only the secret that a file has set gives way; others were added by hand, for example to rotate. */
async function replaceSecret(clientId: string, secret: string | undefined, clients: Stores['clients']): Promise<void> {
  const wanted = secret === undefined ? undefined : secretDigest(clientId, secret)
  const declared = (await clients.find(clientId))?.secrets.filter((candidate) => candidate.declared) ?? []
  for (const { id, digest } of declared) {
    if (digest !== wanted) await clients.removeSecret(clientId, id)
  }
  if (secret !== undefined && !declared.some(({ digest }) => digest === wanted))
    await clients.addSecret(clientId, secret, { declared: true })
}
