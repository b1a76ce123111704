/** The service's own tables in PostgreSQL. */
import type { Pool } from 'pg'
import { AUDIT_COLUMNS } from '../audit-copy.ts'
import type { SqlStatement } from '../emit/parameters.ts'
import { type BuildSql, buildStatement, type ServiceStore, type TermOfKeeper } from '../service-store.ts'
import { requireTerm } from './keeper-term.ts'
import { withClient } from './pool.ts'
import { SCHEMA, toPostgres } from './representation.ts'

export function serviceStore(owner: Pool): ServiceStore {
  const statement = (build: BuildSql): SqlStatement => buildStatement(build, (position) => `$${position}`)
  return {
    schema: SCHEMA,
    bind: toPostgres,
    build: statement,
    // Not the time at which the transaction began: it may have waited.
    now: '(extract(epoch from clock_timestamp()) * 1000)::bigint',
    rows(placeholder, columns) {
      const list = columns.map(
        ([name, type], index) => `(value ->> ${index})::${type === 'text' ? 'text' : 'bigint'} AS ${name}`,
      )
      return `(SELECT ${list.join(', ')} FROM json_array_elements(${placeholder}::json))`
    },
    async read(build) {
      const { sql, parameters } = statement(build)
      return (await owner.query(sql, [...parameters])).rows
    },
    write: (builds, locked) => runUnlessUnchanged(owner, builds.map(statement), locked),
    writeInTerm: (term, builds) => runInTerm(owner, builds.map(statement), term),
  }
}

/** Readers of the locked table are not blocked. */
async function runUnlessUnchanged(
  owner: Pool,
  [first, ...others]: readonly SqlStatement[],
  locked: string | undefined,
): Promise<number> {
  return withClient(owner, async (client) => {
    const run = async ({ sql, parameters }: SqlStatement): Promise<number> =>
      (await client.query(sql, [...parameters])).rowCount ?? 0
    try {
      await client.query('BEGIN')
      if (locked !== undefined) await client.query(`LOCK TABLE ${locked} IN SHARE ROW EXCLUSIVE MODE`)
      const changed = first === undefined ? 0 : await run(first)
      if (changed > 0) for (const statement of others) await run(statement)
      await client.query('COMMIT')
      return changed
    } catch (error) {
      await client.query('ROLLBACK').catch(() => {})
      throw error
    }
  })
}

/** The longest wait of the keeper for a lock. */
const LOCK_MS = 5_000

async function runInTerm(
  owner: Pool,
  statements: readonly SqlStatement[],
  term: TermOfKeeper,
): Promise<readonly number[]> {
  return withClient(owner, async (client) => {
    try {
      await client.query('BEGIN')
      // The connections of the owner are few.
      await client.query(`SET LOCAL lock_timeout = ${LOCK_MS}`)
      const changed: number[] = []
      for (const { sql, parameters } of statements)
        changed.push((await client.query(sql, [...parameters])).rowCount ?? 0)
      await requireTerm(client, term)
      await client.query('COMMIT')
      return changed
    } catch (error) {
      await client.query('ROLLBACK').catch(() => {})
      throw error
    }
  })
}

/** The rows of the audit log in a parameter. */
export function auditRowsFrom(placeholder: string): string {
  return `SELECT ${AUDIT_COLUMNS.replace(' at,', " timestamp 'epoch' + at * interval '1 millisecond',")}
    FROM json_to_recordset(${placeholder}::json) AS r(seq bigint, at bigint, event text, outcome text, actor text, client text,
      target text, address text, request_id text, node text, details text, hash text)`
}
