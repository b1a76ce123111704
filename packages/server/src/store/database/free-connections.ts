/** Checks, before anything is written, that PostgreSQL has enough connections left for a node that starts. */
import type { Ask } from './privileges.ts'
import { UnfitDatabase } from './unfit-database.ts'

interface Limits {
  readonly user: string
  readonly database: string
  /** Null where there is no limit. */
  readonly ofUser: number | null
  readonly ofDatabase: number | null
  readonly ofServer: number
}

/** The connections left within each limit. Superusers are bound only by the limit of the server, and may use the reserved ones. */
const FREE = `
  select current_user::text as "user", current_database()::text as "database",
    case when not rolsuper and rolconnlimit >= 0
      then rolconnlimit - (select count(*) from pg_stat_activity where usesysid = r.oid) end::int as "ofUser",
    case when not rolsuper and datconnlimit >= 0
      then datconnlimit - (select count(*) from pg_stat_activity where datid = d.oid) end::int as "ofDatabase",
    (current_setting('max_connections')::int
      - case when rolsuper then 0 else current_setting('superuser_reserved_connections')::int
          + coalesce(current_setting('reserved_connections', true), '0')::int end
      - (select count(*) from pg_stat_activity where datid is not null))::int as "ofServer"
  from pg_roles r, pg_database d, (values ($1::text)) unused(value)
  where r.rolname = current_user and d.datname = current_database()`

/** `needed` is the number of connections that the start opens in addition to those already open. */
export async function checkFreeConnections(ask: Ask, needed: number): Promise<void> {
  const [row] = await ask(FREE, '')
  // The statement above names the columns of Limits.
  const limits = row as Limits | undefined
  if (limits === undefined) return
  const { user, database, ofUser, ofDatabase, ofServer } = limits
  const fault = (what: string, left: number, cure: string): UnfitDatabase =>
    new UnfitDatabase(
      `${what} has ${Math.max(0, left)} connections left, and a node that starts needs ${needed}: ${cure}.`,
    )
  if (ofUser !== null && ofUser < needed)
    throw fault(`The database user ${user}`, ofUser, `raise its limit with ALTER ROLE ${user} CONNECTION LIMIT`)
  if (ofDatabase !== null && ofDatabase < needed)
    throw fault(
      `The database ${database}`,
      ofDatabase,
      `raise its limit with ALTER DATABASE ${database} CONNECTION LIMIT`,
    )
  if (ofServer < needed) throw fault('The database server', ofServer, 'raise max_connections, or close some of them')
}
