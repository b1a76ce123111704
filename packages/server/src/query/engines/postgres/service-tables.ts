/** The service's own rows in PostgreSQL: the copy of the audit log, and saved documents. */
import type { Pool } from 'pg'
import { AUDIT_COLUMNS, createAuditCopy } from '../audit-copy.ts'
import { createDocumentRows, DOCUMENTS, type DocumentStatement } from '../document-rows.ts'
import type { Engine } from '../engine.ts'
import { POSTGRES_AUDIT_TABLE } from './dialect/system-tables.ts'
import { withClient } from './pool.ts'
import { SCHEMA } from './representation.ts'

export function serviceTables(owner: Pool): Pick<Engine, 'auditCopy' | 'documents'> {
  return {
    auditCopy: createAuditCopy({
      table: POSTGRES_AUDIT_TABLE,
      placeholder: (position) => `$${position}`,
      rowsFrom: auditRowsFrom,
      async last(sql) {
        const { rows } = await owner.query<{ seq: string; hash: string }>(sql)
        return rows[0] === undefined ? undefined : { seq: Number(rows[0].seq), hash: rows[0].hash }
      },
      execute: (sql, parameters) => executeLocked(owner, POSTGRES_AUDIT_TABLE, [{ sql, parameters }]),
    }),
    documents: createDocumentRows({
      schema: SCHEMA,
      placeholder: (position) => `$${position}`,
      read: async (sql, parameters) => (await owner.query(sql, [...parameters])).rows,
      write: (statements) => executeLocked(owner, `${SCHEMA}.${DOCUMENTS}`, statements),
    }),
  }
}

function auditRowsFrom(placeholder: string): string {
  return `SELECT ${AUDIT_COLUMNS.replace(' at,', " timestamp 'epoch' + at * interval '1 millisecond',")}
    FROM json_to_recordset(${placeholder}::json) AS r(seq bigint, at bigint, event text, outcome text, actor text, client text,
      target text, address text, request_id text, node text, details text, hash text)`
}

/**
 * Runs the statements in a transaction while no other node changes the table; readers are not blocked. Those after the first run
 * only if that one changes something. Returns the rows that it changed.
 */
async function executeLocked(owner: Pool, table: string, [first, ...others]: readonly DocumentStatement[]) {
  return withClient(owner, async (client) => {
    const run = async ({ sql, parameters }: DocumentStatement): Promise<number> =>
      (await client.query(sql, [...parameters])).rowCount ?? 0
    try {
      await client.query('BEGIN')
      await client.query(`LOCK TABLE ${table} IN SHARE ROW EXCLUSIVE MODE`)
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
