/** The system tables as queries over PostgreSQL's catalogue. */

import { type TableView, TEXT } from 'gatehouse-iql'
import { ADMIN_SCOPE, ALERT_EVENTS, ALERT_STATES, AUDIT_LOG } from '../../../catalogue/system-tables.ts'
import * as alerts from '../../alert-tables.ts'
import type { Sql } from '../../emit/dialect.ts'
import type { Placeholders } from '../../emit/parameters.ts'
import { SCHEMA } from '../representation.ts'

export const POSTGRES_AUDIT_TABLE = `${SCHEMA}._gh_auditlog`

/** If a condition of the statement failed on a table that the caller is not allowed to see, it would reveal the table. */
const FENCE = 'OFFSET 0'

/** Definitions name it only where it is off. */
const LIVE = `coalesce((t.definition::json ->> 'live')::boolean, TRUE)`

/** Definitions name it only where it is on. */
const COLUMNAR = `coalesce((t.definition::json ->> 'columnar')::boolean, FALSE)`

/** The text of a view of either kind. */
const KEPT = `((t.definition::json #>> '{kept,text}') COLLATE "C")`
const VIEW = `coalesce((t.definition::json #>> '{view,text}') COLLATE "C", ${KEPT})`

const STEP_UP = ['read', 'write']
  .flatMap((kind) => ['acr', 'age'].map((member) => [kind, member]))
  .map(
    ([kind, member]) =>
      `(t.definition::json #>> '{stepUp,${kind},${member}}')::bigint AS ${kind === 'write' ? 'write' : ''}require${member}`,
  )
  .join(', ')

export function systemTableSql(table: TableView, placeholders: Placeholders): Sql {
  if (table.name === AUDIT_LOG) return POSTGRES_AUDIT_TABLE
  const scopes = placeholders.of({ kind: 'scopes' }, TEXT)
  if (table.name === ALERT_STATES || table.name === ALERT_EVENTS) return alertSql(table, scopes, placeholders)
  const mayDefine = `${scopes}::jsonb @> '["${ADMIN_SCOPE}"]'`
  const readable = `(t.readscope IS NULL OR t.readscope IN (SELECT j.v COLLATE "C" FROM jsonb_array_elements_text(${scopes}::jsonb) AS j(v)) OR (NOT t.issystem AND ${mayDefine}))`
  const views = placeholders.of({ kind: 'views' }, TEXT)
  const isVisibleView = `(${VIEW} IS NULL OR t.key IN (SELECT j.v COLLATE "C" FROM jsonb_array_elements_text(${views}::jsonb) AS j(v)))`
  const visible = `${readable} AND ${isVisibleView}`
  const tables = `${SCHEMA}._gh_tables AS t`
  switch (table.name.toLowerCase()) {
    case 'cataloguetables':
      return `(SELECT t.name, t.issystem, t.description, t.readscope, t.writescope,
        json_array_length(t.definition::json -> 'columns')::bigint AS columns, t.created,
        ${LIVE} AS live, ${COLUMNAR} AS columnar, ${VIEW} IS NOT NULL AND ${KEPT} IS NULL AS isview, ${KEPT} IS NOT NULL AS ismaterialized, ${VIEW} AS view, ${STEP_UP} FROM ${tables} WHERE ${visible} ${FENCE})`
    case 'cataloguecolumns':
      return `(SELECT t.name AS tablename, (c.value ->> 'name') COLLATE "C" AS name, (c.value ->> 'type') COLLATE "C" AS type,
        c.ordinal - 1 AS ordinal, (c.value ->> 'nullable')::boolean AS nullable, (c.value ->> 'primarykey')::boolean AS isprimarykey,
        (c.value ->> 'default') COLLATE "C" AS "default"
        FROM ${tables} CROSS JOIN json_array_elements(t.definition::json -> 'columns') WITH ORDINALITY AS c(value, ordinal) WHERE ${visible} ${FENCE})`
    default:
      return `(SELECT t.name, (t.definition::json -> 'columns')::text COLLATE "C" AS columns, t.description, t.readscope, t.writescope, t.rowfilter, ${LIVE} AS live, ${COLUMNAR} AS columnar, ${STEP_UP}
        FROM ${tables} WHERE NOT t.issystem AND ${VIEW} IS NULL AND ${readable} ${FENCE})`
  }
}

/** The rows of alerts of the caller that were written with no more rights than the caller's token has. */
function alertSql({ name }: TableView, scopes: Sql, placeholders: Placeholders): Sql {
  const subject = placeholders.of({ kind: 'claim', claim: 'sub' }, TEXT)
  const isOwn = `r.owner = ${subject} AND ${scopes}::jsonb @> r.scopes::jsonb`
  const from = (table: Sql) =>
    `FROM ${SCHEMA}.${alerts.ALERT_RUNS.name} AS r JOIN ${SCHEMA}.${table} AS a ON a.alert = r.alert WHERE ${isOwn}`
  const time = (column: Sql) => `(timestamp '1970-01-01' + ${column} * interval '1 millisecond')`
  if (name === ALERT_EVENTS)
    return `(SELECT a.alert, a.seq, r.name, ${time('a.at')} AS at, a.type, a.key AS "key", a.row AS "row" ${from(alerts.ALERT_EVENTS.name)} ${FENCE})`
  return `(SELECT a.alert, r.name, a.key AS "key", a.state, ${time('a.since')} AS since, a.row AS "row"
    ${from(alerts.ALERT_STATES.name)} AND a.state IN ('pending', 'firing') ${FENCE})`
}
