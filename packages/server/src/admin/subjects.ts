/** Resolves a parameter of an administration URL, a user by name or id or a client, to the subject of their tokens. */

import { findUser } from '../resources/users.ts'
import type { Database } from '../store/database/database.ts'
import type { Stores } from '../store/stores.ts'
import { notFound } from './route.ts'

type SubjectStores = Pick<Stores, 'users' | 'clients'>

/** A user comes before a client of the same name. */
export async function requireSubject(stores: SubjectStores, name: string): Promise<string> {
  const subject = await findSubject(stores, name)
  if (subject === undefined) throw notFound('user or client', name)
  return subject
}

/** Includes subjects in the audit log that no longer exist. */
export async function requireActor(stores: SubjectStores, { db }: Pick<Database, 'db'>, name: string): Promise<string> {
  const subject = await findSubject(stores, name)
  if (subject !== undefined) return subject
  const row = await db.selectFrom('audit_log').select('seq').where('actor', '=', name).limit(1).execute()
  if (row.length === 0) throw notFound('user or client', name)
  return name
}

/** Rows about a user have its id; others the name of anything that was ever acted on. */
export async function findTargets({ users }: Pick<Stores, 'users'>, name: string): Promise<string[]> {
  const user = await users.findByUsername(name)
  return user === undefined ? [name] : [name, user.id]
}

async function findSubject({ users, clients }: SubjectStores, name: string): Promise<string | undefined> {
  return (await findUser({ users }, name))?.id ?? (await clients.find(name))?.id
}
