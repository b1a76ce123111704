/** The limit of temporary files in PostgreSQL (`temp_file_limit`), which only some users may set. */

/** Runs a statement; `pg` and Kysely differ in how. */
type Ask = (statement: string) => Promise<readonly unknown[]>

export interface TempFileLimit {
  /** In KiB; -1 without a limit. */
  readonly current: number
  /** Whether the connecting user may set it: a superuser, or a user with the privilege (PostgreSQL 15 and later). */
  readonly isSettable: boolean
  /** The connecting user, quoted where SQL needs it. */
  readonly user: string
}

const CURRENT = `select quote_ident(current_user) as "user", setting::bigint::float8 as "current", current_setting('is_superuser') = 'on' as "isSettable",
  current_setting('server_version_num')::int >= 150000 as "isGrantable" from pg_settings where name = 'temp_file_limit'`

export async function readTempFileLimit(ask: Ask): Promise<TempFileLimit> {
  const [row] = (await ask(CURRENT)) as readonly (TempFileLimit & { readonly isGrantable: boolean })[]
  if (row === undefined) throw new Error('PostgreSQL without temp_file_limit')
  if (row.isSettable || !row.isGrantable) return row
  const [granted] = await ask(`select has_parameter_privilege('temp_file_limit', 'SET') as "isSettable"`)
  return { ...row, ...(granted as Pick<TempFileLimit, 'isSettable'>) }
}
