/** Whether a database can hold the query data: what is wrong with one that cannot is said before anything is made in it. */
import type { PoolClient } from 'pg'

/** For the person who has to mend it. */
export class UnfitDatabase extends Error {
  override readonly name = 'UnfitDatabase'
}

const LEAST_VERSION = 14

export async function refuseUnfit(client: PoolClient): Promise<void> {
  const { rows } = await client.query<{ version: string; number: number; encoding: string }>(
    `SELECT current_setting('server_version') AS version, current_setting('server_version_num')::int AS number,
       current_setting('server_encoding') AS encoding`,
  )
  const [server] = rows
  if (server === undefined) return
  if (server.number < LEAST_VERSION * 10_000)
    throw new UnfitDatabase(
      `PostgreSQL ${LEAST_VERSION} or later is needed for queries, and this is ${server.version}.`,
    )
  if (server.encoding !== 'UTF8')
    throw new UnfitDatabase(
      `The encoding of the database is ${server.encoding}, and queries need UTF8: create it with ENCODING 'UTF8' TEMPLATE template0.`,
    )
}

export function noUnicode(cause: unknown): UnfitDatabase {
  return new UnfitDatabase(
    'This PostgreSQL has no collation with the case rules of Unicode, which upper, lower and ILIKE need: take a build with ICU, or version 18.',
    { cause },
  )
}
