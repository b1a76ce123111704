/** The copy of the audit log in the embedded database. */
import type { Database } from 'better-sqlite3'
import { type AuditCopy, type AuditMark, isSameMark } from '../audit-copy.ts'
import { SQLITE_AUDIT_TABLE as TABLE } from './system-tables.ts'
import type { Writer } from './writer.ts'

export function createAuditCopy(reading: Database, writer: Writer): AuditCopy {
  return {
    last: async () => lastOf(reading),
    append: (after, rows) =>
      writer.write((database) => {
        if (!isSameMark(lastOf(database), after)) return false
        database.prepare(INSERT).run(JSON.stringify(rows))
        return true
      }),
    trim: (first, most) => writer.write((database) => database.prepare(TRIM).run(first, most).changes),
    clear: (last) =>
      writer.write((database) => {
        if (isSameMark(lastOf(database), last)) database.exec(`DELETE FROM ${TABLE}`)
      }),
  }
}

function lastOf(database: Database): AuditMark | undefined {
  return database.prepare<[], AuditMark>(`SELECT seq, hash FROM ${TABLE} ORDER BY seq DESC LIMIT 1`).get()
}

/** Times rest as microseconds here, as everywhere in this database. */
const INSERT = `INSERT INTO ${TABLE} (seq, at, event, outcome, actor, client, target, address, request_id, node, details, hash)
  SELECT value ->> 'seq', (value ->> 'at') * 1000, value ->> 'event', value ->> 'outcome', value ->> 'actor', value ->> 'client',
    value ->> 'target', value ->> 'address', value ->> 'request_id', value ->> 'node', value ->> 'details', value ->> 'hash'
  FROM json_each(?)`
const TRIM = `DELETE FROM ${TABLE} WHERE seq IN (SELECT seq FROM ${TABLE} WHERE seq < ? ORDER BY seq LIMIT ?)`
