/** The system tables as queries over SQLite's catalogue. */

import { type TableView, TEXT } from 'gatehouse-iql'
import { ADMIN_SCOPE, ALERT_EVENTS, ALERT_STATES, AUDIT_LOG } from '../../../catalogue/system-tables.ts'
import * as alerts from '../../alert-tables.ts'
import type { Sql } from '../../emit/dialect.ts'
import type { Placeholders } from '../../emit/parameters.ts'

export const SQLITE_AUDIT_TABLE = 'main._gh_auditlog'

/** If a condition of the statement failed on a table that the caller is not allowed to see, it would reveal the table. */
const FENCE = 'LIMIT -1'

/** Definitions name it only where it is off. */
const LIVE = `coalesce(t.definition ->> 'live', 1)`

/** Definitions name it only where it is on. */
const COLUMNAR = `coalesce(t.definition ->> 'columnar', 0)`

/** The text of a view of either kind. */
const KEPT = `(t.definition ->> '$.kept.text')`
const VIEW = `coalesce(t.definition ->> '$.view.text', ${KEPT})`

const STEP_UP = ['read', 'write']
  .flatMap((kind) => ['acr', 'age'].map((member) => [kind, member]))
  .map(
    ([kind, member]) =>
      `(t.definition ->> '$.stepUp.${kind}.${member}') AS ${kind === 'write' ? 'write' : ''}require${member}`,
  )
  .join(', ')

export function systemTableSql(table: TableView, placeholders: Placeholders): Sql {
  if (table.name === AUDIT_LOG) return SQLITE_AUDIT_TABLE
  const scopes = placeholders.of({ kind: 'scopes' }, TEXT)
  if (table.name === ALERT_STATES || table.name === ALERT_EVENTS) return alertSql(table, scopes, placeholders)
  const views = placeholders.of({ kind: 'views' }, TEXT)
  const isVisibleView = `(${VIEW} IS NULL OR t.key IN (SELECT value FROM json_each(${views})))`
  const mayDefine = `EXISTS (SELECT 1 FROM json_each(${scopes}) WHERE value = '${ADMIN_SCOPE}')`
  const readable = `(t.readscope IS NULL OR t.readscope IN (SELECT value FROM json_each(${scopes})) OR (NOT t.issystem AND ${mayDefine}))`
  const visible = `${readable} AND ${isVisibleView}`
  switch (table.name.toLowerCase()) {
    case 'cataloguetables':
      return `(SELECT t.name, t.issystem, t.description, t.readscope, t.writescope,
        json_array_length(t.definition, '$.columns') AS columns, t.created,
        ${LIVE} AS live, ${COLUMNAR} AS columnar, ${VIEW} IS NOT NULL AND ${KEPT} IS NULL AS isview, ${KEPT} IS NOT NULL AS ismaterialized, ${VIEW} AS view, ${STEP_UP} FROM main._gh_tables AS t WHERE ${visible} ${FENCE})`
    case 'cataloguecolumns':
      return `(SELECT t.name AS tablename, c.value ->> 'name' AS name, c.value ->> 'type' AS type, c.key AS ordinal,
        c.value ->> 'nullable' AS nullable, c.value ->> 'primarykey' AS isprimarykey, c.value ->> 'default' AS "default"
        FROM main._gh_tables AS t JOIN json_each(t.definition, '$.columns') AS c WHERE ${visible} ${FENCE})`
    default:
      return `(SELECT t.name, t.definition -> 'columns' AS columns, t.description, t.readscope, t.writescope, t.rowfilter, ${LIVE} AS live, ${COLUMNAR} AS columnar, ${STEP_UP}
        FROM main._gh_tables AS t WHERE t.issystem = 0 AND ${VIEW} IS NULL AND ${readable} ${FENCE})`
  }
}

/** The rows of alerts of the caller that were written with no more rights than the caller's token has. */
function alertSql({ name }: TableView, scopes: Sql, placeholders: Placeholders): Sql {
  const subject = placeholders.of({ kind: 'claim', claim: 'sub' }, TEXT)
  const isOwn = `r.owner = ${subject} AND NOT EXISTS (
    SELECT 1 FROM json_each(r.scopes) AS n WHERE n.value NOT IN (SELECT value FROM json_each(${scopes})))`
  const from = (table: Sql) =>
    `FROM main.${alerts.ALERT_RUNS.name} AS r JOIN main.${table} AS a ON a.alert = r.alert WHERE ${isOwn}`
  if (name === ALERT_EVENTS)
    return `(SELECT a.alert, a.seq, r.name, a.at * 1000 AS at, a.type, a.key AS "key", a.row AS "row" ${from(alerts.ALERT_EVENTS.name)} ${FENCE})`
  return `(SELECT a.alert, r.name, a.key AS "key", a.state, a.since * 1000 AS since, a.row AS "row"
    ${from(alerts.ALERT_STATES.name)} AND a.state IN ('pending', 'firing') ${FENCE})`
}
