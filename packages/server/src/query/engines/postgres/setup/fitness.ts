/** Checks that a PostgreSQL database can hold the query data: version, encoding, collation, privileges. Leaves nothing in it. */
import type { ClientBase } from 'pg'
import { checkPrivileges } from '../../../../store/database/privileges.ts'
import { type PostgresPlace, withConnection } from '../../../../store/database/servers/one-connection.ts'
import { UnfitDatabase } from '../../../../store/database/unfit-database.ts'
import { SCHEMA } from '../representation.ts'

const MIN_VERSION = 14

/** Provider and locale of a collation with Unicode's case rules, best first; which ones exist depends on version and build. */
const UNICODE_COLLATIONS = [`provider = builtin, locale = 'PG_UNICODE_FAST'`, `provider = icu, locale = 'und'`]

/** Throws UnfitDatabase. Trial statements are rolled back. */
export function checkPostgres(place: PostgresPlace): Promise<void> {
  return withConnection(place, { application_name: 'gatehouse start' }, async (client) => {
    await refuseUnfit(client)
    await client.query('BEGIN')
    await client.query(`CREATE SCHEMA IF NOT EXISTS ${SCHEMA}`)
    await createUnicodeCollation(client)
    await client.query('ROLLBACK')
  })
}

export async function refuseUnfit(client: ClientBase): Promise<void> {
  const { rows } = await client.query<{ version: string; number: number; encoding: string }>(
    `SELECT current_setting('server_version') AS version, current_setting('server_version_num')::int AS number,
       current_setting('server_encoding') AS encoding`,
  )
  const [server] = rows
  if (server === undefined) return
  if (server.number < MIN_VERSION * 10_000)
    throw new UnfitDatabase(`Queries need PostgreSQL ${MIN_VERSION} or later, and this is ${server.version}.`)
  if (server.encoding !== 'UTF8')
    throw new UnfitDatabase(
      `The encoding of the database is ${server.encoding}, and queries need UTF8: create it with ENCODING 'UTF8' TEMPLATE template0.`,
    )
  await checkPrivileges(async (statement, schema) => (await client.query(statement, [schema])).rows, SCHEMA)
}

/** In a transaction, after the schema exists. */
export async function createUnicodeCollation(client: ClientBase): Promise<void> {
  const { rowCount } = await client.query(
    `SELECT 1 FROM pg_collation c JOIN pg_namespace n ON n.oid = c.collnamespace WHERE n.nspname = $1 AND c.collname = 'gh_unicode'`,
    [SCHEMA],
  )
  if (rowCount !== 0) return
  let cause: unknown
  for (const definition of UNICODE_COLLATIONS) {
    await client.query('SAVEPOINT attempt')
    try {
      await client.query(`CREATE COLLATION ${SCHEMA}.gh_unicode (${definition})`)
      return
    } catch (error) {
      cause = error
      await client.query('ROLLBACK TO attempt')
    }
  }
  throw new UnfitDatabase(
    "This PostgreSQL has no collation with Unicode's case rules, which upper, lower and ILIKE need: use a build with ICU, or version 18.",
    { cause },
  )
}
