/** Where SQLite keeps the catalogue, and the system tables as queries over it. */
import { AUDIT_LOG } from '../../catalogue/system-tables.ts'
import type { TableView } from '../../iql/catalogue-view.ts'
import { TEXT } from '../../iql/types.ts'
import type { Sql } from '../emit/dialect.ts'
import type { Slots } from '../emit/slots.ts'

/** Names that begin with _gh_ cannot be said in IQL: they are not in the catalogue. */
export const SQLITE_CATALOGUE_SCHEMA = `
  CREATE TABLE IF NOT EXISTS _gh_tables (
    key TEXT PRIMARY KEY, name TEXT NOT NULL, issystem INTEGER NOT NULL, definition TEXT NOT NULL,
    readscope TEXT, writescope TEXT, rowfilter TEXT, description TEXT, created INTEGER NOT NULL
  ) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS _gh_requests (
    owner TEXT NOT NULL, key TEXT NOT NULL, fingerprint TEXT NOT NULL, answer TEXT NOT NULL, created INTEGER NOT NULL,
    PRIMARY KEY (owner, key)
  ) WITHOUT ROWID;
  CREATE INDEX IF NOT EXISTS _gh_requests_created ON _gh_requests (created);
  CREATE TABLE IF NOT EXISTS _gh_auditlog (
    seq INTEGER PRIMARY KEY, at INTEGER NOT NULL, event TEXT NOT NULL, outcome TEXT NOT NULL, actor TEXT, client TEXT,
    target TEXT, address TEXT, request_id TEXT, node TEXT NOT NULL, details TEXT NOT NULL, hash TEXT NOT NULL
  );
  CREATE INDEX IF NOT EXISTS _gh_auditlog_at ON _gh_auditlog (at);
`

export const SQLITE_AUDIT_TABLE = 'main._gh_auditlog'

/** A condition of the statement that fails on a table which the caller may not see would tell of it. */
const FENCE = 'LIMIT -1'

export function systemTableSql(table: TableView, slots: Slots): Sql {
  if (table.name === AUDIT_LOG) return SQLITE_AUDIT_TABLE
  const scopes = slots.mark({ kind: 'scopes' }, TEXT)
  const visible = `(t.readscope IS NULL OR t.readscope IN (SELECT value FROM json_each(${scopes})))`
  switch (table.name.toLowerCase()) {
    case 'cataloguetables':
      return `(SELECT t.name, t.issystem, t.description, t.readscope, t.writescope,
        json_array_length(t.definition, '$.columns') AS columns, t.created FROM main._gh_tables AS t WHERE ${visible} ${FENCE})`
    case 'cataloguecolumns':
      return `(SELECT t.name AS tablename, c.value ->> 'name' AS name, c.value ->> 'type' AS type, c.key AS ordinal,
        c.value ->> 'nullable' AS nullable, c.value ->> 'primarykey' AS isprimarykey, c.value ->> 'default' AS "default"
        FROM main._gh_tables AS t JOIN json_each(t.definition, '$.columns') AS c WHERE ${visible} ${FENCE})`
    default:
      return `(SELECT t.name, t.definition -> 'columns' AS columns, t.description, t.readscope, t.writescope, t.rowfilter
        FROM main._gh_tables AS t WHERE t.issystem = 0 AND ${visible} ${FENCE})`
  }
}
