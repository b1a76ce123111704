/** The service's own rows in SQLite: the copy of the audit log, saved documents, and the row that shows whether the disk takes writes. */
import { randomUUID } from 'node:crypto'
import type { Database } from 'better-sqlite3'
import type { Availability } from '../../../lib/availability.ts'
import { SEVERAL_PAGES } from '../../../store/database/database.ts'
import type { GroupCommit } from '../../../store/database/group-commit.ts'
import { retryWhileLocked } from '../../../store/database/write-lock.ts'
import { AUDIT_COLUMNS, type AuditPosition, createAuditCopy } from '../audit-copy.ts'
import { createDocumentRows, type DocumentStatement } from '../document-rows.ts'
import type { Bindable } from '../emit/parameters.ts'
import type { Engine } from '../engine.ts'
import { SQLITE_AUDIT_TABLE } from './dialect/system-tables.ts'

interface OpenDatabase {
  readonly reading: Database
  readonly writing: Database
  readonly commits: GroupCommit
  readonly availability: Availability
}

export function serviceTables(open: OpenDatabase): Pick<Engine, 'auditCopy' | 'documents'> {
  const { reading, writing, commits } = open
  return {
    auditCopy: createAuditCopy({
      table: SQLITE_AUDIT_TABLE,
      placeholder: () => '?',
      rowsFrom: auditRowsFrom,
      last: (sql) => retryWhileLocked(() => reading.prepare<[], AuditPosition>(sql).get()),
      execute: (sql, parameters) => commits.write(() => writing.prepare(sql).run(...parameters).changes),
    }),
    documents: createDocumentRows({
      schema: 'main',
      placeholder: () => '?',
      read: <Row>(sql: string, parameters: readonly Bindable[]) =>
        retryWhileLocked(() => reading.prepare<unknown[], Row>(sql).all(...parameters)),
      write: (statements) => watched(open, () => commits.write(() => runUnlessUnchanged(writing, statements))),
    }),
  }
}

/** Reports whether the database takes writes. */
export async function watched<T>(
  { availability }: Pick<OpenDatabase, 'availability'>,
  write: () => Promise<T>,
): Promise<T> {
  try {
    const result = await write()
    availability.succeeded(true)
    return result
  } catch (error) {
    availability.failed(error)
    throw error
  }
}

/** Writes a row to the disk and deletes it again; otherwise a full disk would not be noticed. */
export function tryWrite(writing: Database): void {
  const key = `readiness ${randomUUID()}`
  writing
    .prepare("INSERT INTO main._gh_requests (owner, key, fingerprint, answer, created) VALUES ('', ?, '', ?, 0)")
    .run(key, ' '.repeat(SEVERAL_PAGES))
  writing.prepare("DELETE FROM main._gh_requests WHERE owner = '' AND key = ?").run(key)
}

/** The statements after the first run only if that one changes something. Returns the rows that it changed. */
function runUnlessUnchanged(writing: Database, [first, ...others]: readonly DocumentStatement[]): number {
  const changed = first === undefined ? 0 : writing.prepare(first.sql).run(...first.parameters).changes
  if (changed > 0) for (const { sql, parameters } of others) writing.prepare(sql).run(...parameters)
  return changed
}

/** Timestamps are stored in microseconds, as everywhere in this database. */
function auditRowsFrom(placeholder: string): string {
  const columns = AUDIT_COLUMNS.split(', ').map((name) =>
    name === 'at' ? "(value ->> 'at') * 1000" : `value ->> '${name}'`,
  )
  return `SELECT ${columns.join(', ')} FROM json_each(${placeholder})`
}
