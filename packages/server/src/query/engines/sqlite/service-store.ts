/** The service's own tables in SQLite, and the row that shows whether the disk takes writes. */
import { randomUUID } from 'node:crypto'
import type { Database } from 'better-sqlite3'
import { SEVERAL_PAGES } from '../../../store/database/database.ts'
import { retryWhileLocked } from '../../../store/database/write-lock.ts'
import { AUDIT_COLUMNS } from '../audit-copy.ts'
import type { SqlStatement } from '../emit/parameters.ts'
import { type BuildSql, buildStatement, type ServiceStore } from '../service-store.ts'
import { type OpenDatabase, watched } from './database.ts'
import { requireTerm } from './keeper-term.ts'
import { toSqlite } from './representation.ts'

export function serviceStore(open: OpenDatabase): ServiceStore {
  const { reading, writing, commits } = open
  const statement = (build: BuildSql): SqlStatement => buildStatement(build, () => '?')
  return {
    schema: 'main',
    bind: toSqlite,
    now: "CAST(unixepoch('subsec') * 1000 AS INTEGER)",
    build: statement,
    rows(placeholder, columns) {
      const list = columns.map(([name], index) => `value ->> ${index} AS ${name}`)
      return `(SELECT ${list.join(', ')} FROM json_each(${placeholder}))`
    },
    read<Row>(build: BuildSql) {
      const { sql, parameters } = statement(build)
      return retryWhileLocked(() => reading.prepare<unknown[], Row>(sql).all(...parameters))
    },
    write: (builds) => watched(open, () => commits.write(() => runUnlessUnchanged(writing, builds.map(statement)))),
    writeInTerm: (term, builds, onBlocked) =>
      watched(open, () =>
        commits.write(() => {
          const began = performance.now()
          requireTerm(writing, term)
          const run = ({ sql, parameters }: SqlStatement): number => writing.prepare(sql).run(...parameters).changes
          const changed = builds.map(statement).map(run)
          onBlocked?.(performance.now() - began)
          return changed
        }),
      ),
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

function runUnlessUnchanged(writing: Database, [first, ...others]: readonly SqlStatement[]): number {
  const changed = first === undefined ? 0 : writing.prepare(first.sql).run(...first.parameters).changes
  if (changed > 0) for (const { sql, parameters } of others) writing.prepare(sql).run(...parameters)
  return changed
}

/** The rows of the audit log in a parameter. Timestamps are stored in microseconds, as everywhere in this database. */
export function auditRowsFrom(placeholder: string): string {
  const columns = AUDIT_COLUMNS.split(', ').map((name) =>
    name === 'at' ? "(value ->> 'at') * 1000" : `value ->> '${name}'`,
  )
  return `SELECT ${columns.join(', ')} FROM json_each(${placeholder})`
}
