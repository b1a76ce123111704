/** Rows of EXPLAIN, EXPLAIN LIVE, DESCRIBE, SHOW TABLES and SHOW COLUMNS, which need no database. */

import {
  type DescribeTable,
  type Explain,
  type ExplainLive,
  type ShowColumns,
  type ShowTables,
  typeName,
} from 'gatehouse-iql'
import { Refusal } from 'gatehouse-protocol'
import { viewFor } from '../catalogue/snapshot.ts'
import type { Engine } from '../engines/engine.ts'
import type { Cell } from '../model/result.ts'
import { explain } from '../plan/explain.ts'
import { planLive } from '../plan/live.ts'
import type { Run } from './call.ts'

export type Introspection = Explain | ExplainLive | DescribeTable | ShowTables | ShowColumns

export function introspect(statement: Introspection, run: Run, engine: Engine): Cell[][] {
  const { snapshot } = run.planned
  switch (statement.kind) {
    case 'explain':
      return explain(statement.statement, (table) => snapshot.indexesOf(table)).map((line) => [line])
    case 'explain-live':
      return [explainLive(statement, run, engine)]
    case 'show-tables':
      return [...viewFor(snapshot, run.principal.scopes).tableNames()].map((name) => [
        name,
        snapshot.table(name)?.isSystem ?? false,
        snapshot.definitionOf(name)?.description ?? null,
        snapshot.table(name)?.view !== undefined,
      ])
    case 'describe':
    case 'show-columns': {
      const definition = snapshot.definitionOf(statement.table.name)
      return (definition?.columns ?? []).map((column, ordinal) => [
        column.name,
        typeName(column.type),
        BigInt(ordinal),
        column.nullable,
        definition?.primaryKey.includes(column.name) ?? false,
        column.default ?? null,
      ])
    }
  }
}

/** Method, key and reason. A statement that cannot be live has the method `refused`. */
function explainLive({ query }: ExplainLive, { planned }: Run, engine: Engine): Cell[] {
  const bound = { ...planned.bound, statement: query, columns: query.columns }
  try {
    const { method, keyNames, reason } = planLive({ ...planned, bound }, engine)
    return [method, keyNames === null ? null : JSON.stringify(keyNames), reason]
  } catch (error) {
    if (!(error instanceof Refusal) || error.code !== 'IQL.NotLive') throw error
    return ['refused', null, `${error.message}: ${error.details.members?.Hint}.`]
  }
}
