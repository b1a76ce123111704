/** Rows of EXPLAIN, EXPLAIN LIVE, DESCRIBE, SHOW TABLES and SHOW COLUMNS, which need no database. */

import {
  type DescribeTable,
  type Explain,
  type ExplainLive,
  printExpression,
  type ShowTables,
  sameName,
  someWithin,
  type TableView,
  typeName,
} from 'gatehouse-iql'
import { Refusal, type StepUpNeed } from 'gatehouse-protocol'
import { viewFor } from '../catalogue/snapshot.ts'
import type { Engine } from '../engines/engine.ts'
import type { Cell } from '../model/result.ts'
import { explain } from '../plan/explain.ts'
import { planLive } from '../plan/live.ts'
import type { RunningCall } from './call.ts'

export type Introspection = Explain | ExplainLive | DescribeTable | ShowTables

export function introspect(statement: Introspection, run: RunningCall, engine: Engine): Cell[][] {
  const { snapshot } = run.planned
  switch (statement.kind) {
    case 'explain':
      return explain(statement.statement, (table) => snapshot.findIndexes(table)).map((line) => [line])
    case 'explain-live':
      return [explainLive(statement, run, engine)]
    case 'show-tables':
      return [...viewFor(snapshot, run.principal.scopes).tableNames()].map((name) => {
        const { description, stepUp } = snapshot.findDefinition(name) ?? {}
        const { isSystem = false, view } = snapshot.table(name) ?? {}
        const needs = [needText(stepUp?.read), needText(stepUp?.write)]
        return [name, isSystem, description ?? null, view !== undefined, ...needs]
      })
    case 'describe': {
      const definition = snapshot.findDefinition(statement.table.name)
      return (definition?.columns ?? []).map((column, ordinal) => [
        column.name,
        typeName(column.type),
        BigInt(ordinal),
        column.nullable,
        definition?.primaryKey.includes(column.name) ?? false,
        column.default ?? null,
        columnChecks(statement.table, column.name),
      ])
    }
  }
}

/** As REQUIRE ( … ) has it. */
function needText(need: StepUpNeed | undefined): string | null {
  if (need === undefined) return null
  const { acr, age } = need
  return [acr !== undefined && `acr = ${acr}`, age !== undefined && `age = ${age}`].filter(Boolean).join(', ')
}

/** The conditions that a column is part of. */
function columnChecks({ checks = [] }: TableView, column: string): string | null {
  const found = checks.filter(({ condition }) =>
    someWithin(condition, (node) => node.kind === 'column' && sameName(node.name.text, column)),
  )
  if (found.length === 0) return null
  return found.map(({ name, condition }) => `${name}: ${printExpression(condition)}`).join('; ')
}

/** Method, key and reason. A statement that cannot be live has the method `refused`. */
function explainLive({ query }: ExplainLive, { planned }: RunningCall, engine: Engine): Cell[] {
  const bound = { ...planned.bound, statement: query, columns: query.columns }
  try {
    const { method, keyNames, reason } = planLive({ ...planned, bound }, engine)
    return [method, keyNames === null ? null : JSON.stringify(keyNames), reason]
  } catch (error) {
    if (!(error instanceof Refusal) || error.code !== 'IQL.NotLive') throw error
    return ['refused', null, `${error.message}: ${error.details.members?.Hint}.`]
  }
}
