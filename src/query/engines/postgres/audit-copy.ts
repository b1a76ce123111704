/** The copy of the audit log in PostgreSQL: written by the owner of the schema, one node at a time. */
import type { Pool, PoolClient } from 'pg'
import { type AuditCopy, type AuditMark, isSameMark } from '../audit-copy.ts'
import { POSTGRES_AUDIT_TABLE as TABLE } from './system-tables.ts'

export function createAuditCopy(owner: Pool): AuditCopy {
  return {
    last: () => lastOf(owner),
    append: (after, rows) =>
      alone(owner, async (client) => {
        if (!isSameMark(await lastOf(client), after)) return false
        const written = rows.map((row) => ({ ...row, at: new Date(row.at).toISOString() }))
        await client.query(INSERT, [JSON.stringify(written)])
        return true
      }),
    trim: async (first, most) => (await owner.query(TRIM, [first, most])).rowCount ?? 0,
    clear: (last) =>
      alone(owner, async (client) => {
        if (isSameMark(await lastOf(client), last)) await client.query(`DELETE FROM ${TABLE}`)
      }),
  }
}

/** Nodes that copy at once take turns; readers are not in the way. */
async function alone<T>(owner: Pool, work: (client: PoolClient) => Promise<T>): Promise<T> {
  const client = await owner.connect()
  try {
    await client.query('BEGIN')
    await client.query(`LOCK TABLE ${TABLE} IN SHARE ROW EXCLUSIVE MODE`)
    const done = await work(client)
    await client.query('COMMIT')
    return done
  } catch (error) {
    await client.query('ROLLBACK').catch(() => {})
    throw error
  } finally {
    client.release()
  }
}

async function lastOf(client: Pick<PoolClient, 'query'>): Promise<AuditMark | undefined> {
  const { rows } = await client.query<{ seq: string; hash: string }>(
    `SELECT seq, hash FROM ${TABLE} ORDER BY seq DESC LIMIT 1`,
  )
  return rows[0] === undefined ? undefined : { seq: Number(rows[0].seq), hash: rows[0].hash }
}

const INSERT = `INSERT INTO ${TABLE} (seq, at, event, outcome, actor, client, target, address, request_id, node, details, hash)
  SELECT seq, at, event, outcome, actor, client, target, address, request_id, node, details, hash
  FROM json_to_recordset($1::json) AS r(seq bigint, at timestamp, event text, outcome text, actor text, client text,
    target text, address text, request_id text, node text, details text, hash text)`
const TRIM = `DELETE FROM ${TABLE} WHERE seq IN (SELECT seq FROM ${TABLE} WHERE seq < $1 ORDER BY seq LIMIT $2)`
