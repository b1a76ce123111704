/** The names of users and clients by the subject of their tokens: a username, or the client id itself. */
import type { Database } from '../database/database.ts'
import { USER_ID_PREFIX } from './user.ts'

/** Those that do not exist are absent. */
export async function subjectNames(
  { db }: Pick<Database, 'db'>,
  subjects: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const { users = [], clients = [] } = Object.groupBy(subjects, (subject) =>
    subject.startsWith(USER_ID_PREFIX) ? 'users' : 'clients',
  )
  const names = new Map<string, string>()
  if (users.length > 0) {
    const rows = await db.selectFrom('users').select(['id', 'username']).where('id', 'in', users).execute()
    for (const { id, username } of rows) names.set(id, username)
  }
  if (clients.length > 0) {
    const rows = await db.selectFrom('clients').select('client_id').where('client_id', 'in', clients).execute()
    for (const { client_id } of rows) names.set(client_id, client_id)
  }
  return names
}
