/** The table of the states of materialized views: what all nodes know of them, and what they ask of the keeper. */
import { BOOLEAN, INTEGER, type IqlType, TEXT } from 'gatehouse-iql'
import { type CatalogueRow, readDefinition } from '../catalogue/definition.ts'
import { logName } from './change-log.ts'
import type { Sql } from './emit/dialect.ts'
import type { SqlStatement } from './emit/parameters.ts'

export const KEPT_STATES = '_gh_views'

/** Its columns that count; the progress is in thousandths. */
export const KEPT_COUNTS = ['progress', 'rows', 'builds', 'asked', 'done', 'wrong'] as const

interface StateDialect {
  readonly schema: string
  readonly columnType: (type: IqlType) => Sql
  readonly truth: (value: boolean) => Sql
  readonly placeholder: (position: number) => Sql
  /** Clauses of a table whose primary key is a text. */
  readonly textKeyOptions: Sql
}

export function createKeptStates({ schema, columnType, truth, textKeyOptions }: StateDialect): Sql {
  const [text, integer, boolean] = [TEXT, INTEGER, BOOLEAN].map(columnType)
  const counts = KEPT_COUNTS.map((name) => `${name} ${integer} NOT NULL DEFAULT 0`)
  return `CREATE TABLE IF NOT EXISTS ${schema}.${KEPT_STATES} (
      key ${text} PRIMARY KEY, state ${text} NOT NULL, position ${text},
      built ${boolean} NOT NULL DEFAULT ${truth(false)}, error ${text}, ${counts.join(', ')}, zones ${text}, cuts ${text}
    )${textKeyOptions}`
}

/** For `readDefinition`. */
export function selectKeptState(schema: string): Sql {
  return `(SELECT v.state || ' ' || v.progress || CASE WHEN v.cuts IS NULL THEN ' ' ELSE '+ ' END || coalesce(v.error, '') FROM ${schema}.${KEPT_STATES} AS v
      WHERE v.key = _gh_tables.key)`
}

export function insertKeptState(name: string, { schema, placeholder }: StateDialect): SqlStatement {
  return {
    sql: `INSERT INTO ${schema}.${KEPT_STATES} (key, state) VALUES (${placeholder(1)}, 'building')`,
    parameters: [name.toLowerCase()],
  }
}

export function removeKeptState(name: string, { schema, placeholder }: StateDialect): SqlStatement {
  return {
    sql: `DELETE FROM ${schema}.${KEPT_STATES} WHERE key = ${placeholder(1)}`,
    parameters: [name.toLowerCase()],
  }
}

/** The keys of the materialized views of each table, by the name of its log, which is kept for them. */
export type ViewsByLog = ReadonlyMap<string, readonly string[]>

export function viewsByLog(rows: readonly CatalogueRow[]): ViewsByLog {
  const views = new Map<string, string[]>()
  for (const row of rows) {
    if (row.kept === null) continue
    const [base] = readDefinition(row).kept?.uses ?? []
    if (base === undefined) continue
    views.set(logName(base), [...(views.get(logName(base)) ?? []), row.name.toLowerCase()])
  }
  return views
}
