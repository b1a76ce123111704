/** Checks, without writing, that the user of a PostgreSQL database may create and change what is kept in a schema. */
import { UnfitDatabase } from './unfit-database.ts'

/** Runs a statement with one parameter; `pg` and Kysely differ in how. */
export type Ask = (statement: string, schema: string) => Promise<readonly unknown[]>

interface Rights {
  readonly user: string
  readonly database: string
  readonly isReadOnly: boolean
  readonly exists: boolean
  readonly mayCreateSchema: boolean
  /** Null when the schema does not exist. */
  readonly mayUseSchema: boolean | null
  /** The owner of a table that the user may not write, or of a function that it could not replace. */
  readonly otherOwner: string | null
}

const RIGHTS = `
  select current_user::text as "user", current_database()::text as "database",
    current_setting('transaction_read_only') = 'on' as "isReadOnly",
    n.oid is not null as "exists",
    has_database_privilege(current_database(), 'CREATE') as "mayCreateSchema",
    has_schema_privilege(n.oid, 'USAGE') and has_schema_privilege(n.oid, 'CREATE') as "mayUseSchema",
    (select pg_get_userbyid(owner)::text from (
       select relowner as owner from pg_class where relnamespace = n.oid and relkind in ('r', 'p')
         and not (has_table_privilege(oid, 'SELECT') and has_table_privilege(oid, 'INSERT')
           and has_table_privilege(oid, 'UPDATE') and has_table_privilege(oid, 'DELETE'))
       union all select proowner from pg_proc where pronamespace = n.oid) owners
     where not pg_has_role(owner, 'USAGE') limit 1) as "otherOwner"
  from (values ($1::text)) wanted(name) left join pg_namespace n on n.nspname = wanted.name`

export async function checkPrivileges(ask: Ask, schema: string): Promise<void> {
  const [row] = await ask(RIGHTS, schema)
  // The statement above names the columns of Rights.
  const rights = row as Rights | undefined
  const fault = rights && findFault(rights, schema)
  if (fault !== undefined) throw new UnfitDatabase(fault)
}

function findFault(rights: Rights, schema: string): string | undefined {
  const { user, database } = rights
  if (rights.isReadOnly)
    return `The database ${database} is read-only (a standby, or default_transaction_read_only is on): set GATEHOUSE_DATABASE_URL to the primary.`
  if (!rights.exists)
    return rights.mayCreateSchema
      ? undefined
      : `The database user ${user} has no permission to create the schema ${schema}: run GRANT CREATE ON DATABASE ${database} TO ${user}, or make it the owner of the database.`
  if (rights.otherOwner !== null)
    return `A table or function in the schema ${schema} belongs to ${rights.otherOwner}, and the database user ${user} cannot change it: connect as ${rights.otherOwner}, or make ${user} the owner of everything in the schema.`
  if (rights.mayUseSchema === false)
    return `The database user ${user} has no permission to create tables in the schema ${schema}: run GRANT USAGE, CREATE ON SCHEMA ${schema} TO ${user}.`
  return undefined
}
