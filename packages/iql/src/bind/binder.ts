/** Binds a statement: resolves names, checks types and rights, and adds row filters. */

import type { Bound, BoundStatement } from '../bound/bound.ts'
import type { OutputItem, ResultColumn } from '../bound/bound-query.ts'
import type { CatalogueView } from '../bound/catalogue-view.ts'
import { mergeQueries } from '../rewrite/merge-queries.ts'
import { Binding, type BindingRules, type BindOptions, type Literals } from '../scope/binding.ts'
import type { Statement } from '../syntax/ast.ts'
import { BOOLEAN, INTEGER, JSON_TYPE, TEXT, TIMESTAMP } from '../types/types.ts'
import {
  bindAlterTable,
  bindCreateIndex,
  bindCreateTable,
  bindDropIndex,
  bindDropTable,
  bindSetTable,
} from './define.ts'
import { bindExpression } from './expression.ts'
import { lookupDefinition } from './from.ts'
import { bindAlterKeptView, bindCreateKeptView, bindDropKeptView, bindRefresh } from './kept-view.ts'
import { bindQuery } from './query.ts'
import { refuseCopies } from './refuse-copies.ts'
import { bindAlterView, bindCreateView, bindDropView } from './view.ts'
import { bindDelete, bindInsert, bindUpdate } from './write.ts'

/** `text` is the text that was parsed; errors refer to positions in it. The result distinguishes the `literals`. */
export function bind(
  statement: Statement,
  text: string,
  catalogue: CatalogueView,
  literals?: Literals,
  options: BindOptions = {},
): Bound {
  let binding = new Binding(statement, text, catalogue, RULES, literals, undefined, options)
  let bound = bindStatement(binding, statement)
  if (binding.lateTypes !== undefined) {
    binding = new Binding(statement, text, catalogue, RULES, literals, binding.lateTypes, options)
    bound = bindStatement(binding, statement)
  }
  return {
    statement: bound,
    parameters: binding.parameters,
    columns: statementColumns(bound),
    tables: [...binding.tables],
    views: [...binding.expansion.views],
    usesClaims: binding.usesClaims,
    attributes: binding.attributes,
  }
}

const RULES: BindingRules = { expression: bindExpression, query: bindQuery }

function bindStatement(binding: Binding, statement: Statement): BoundStatement {
  switch (statement.kind) {
    case 'query':
    case 'insert':
    case 'update':
    case 'delete':
      return bindRunnable(binding, statement)
    case 'explain':
      return {
        kind: 'explain',
        statement: bindRunnable(binding, statement.statement),
        ...(statement.analyze && statement.statement.kind === 'query' ? { analyzed: statement.statement } : {}),
      }
    case 'explain-live':
      return { kind: 'explain-live', query: mergeQueries(bindQuery(binding, undefined, statement.query)) }
    case 'explain-retention':
      return {
        kind: 'explain-retention',
        change:
          statement.statement.kind === 'alter-table'
            ? bindSetTable(binding, statement.statement)
            : bindAlterKeptView(binding, statement.statement),
      }
    case 'create-table':
      return bindCreateTable(binding, statement)
    case 'alter-table':
      return bindAlterTable(binding, statement)
    case 'drop-table':
      return bindDropTable(binding, statement)
    case 'create-view':
      return bindCreateView(binding, statement)
    case 'alter-view':
      return bindAlterView(binding, statement)
    case 'drop-view':
      return bindDropView(binding, statement)
    case 'create-kept-view':
      return bindCreateKeptView(binding, statement)
    case 'alter-kept-view':
      return bindAlterKeptView(binding, statement)
    case 'drop-kept-view':
      return bindDropKeptView(binding, statement)
    case 'refresh-view':
      return bindRefresh(binding, statement)
    case 'create-index':
      return bindCreateIndex(binding, statement)
    case 'drop-index':
      return bindDropIndex(binding, statement)
    case 'describe':
      return { kind: 'describe', table: lookupDefinition(binding, statement.table) }
    case 'show-tables':
      return { kind: 'show-tables' }
  }
}

type Runnable = Extract<Statement, { kind: 'query' | 'insert' | 'update' | 'delete' }>

function bindRunnable(binding: Binding, written: Runnable) {
  const statement = bindUnchecked(binding, written)
  refuseCopies(binding, statement)
  return statement.kind === 'query' ? mergeQueries(statement) : statement
}

function bindUnchecked(binding: Binding, statement: Runnable) {
  switch (statement.kind) {
    case 'query':
      return bindQuery(binding, undefined, statement, { anyNames: binding.options.anyNames === true })
    case 'insert':
      return bindInsert(binding, statement)
    case 'update':
      return bindUpdate(binding, statement)
    case 'delete':
      return bindDelete(binding, statement)
  }
}

const TABLE_COLUMNS: readonly ResultColumn[] = [
  { name: 'name', type: TEXT, nullable: false },
  { name: 'issystem', type: BOOLEAN, nullable: false },
  { name: 'description', type: TEXT, nullable: true },
  { name: 'isview', type: BOOLEAN, nullable: false },
  { name: 'require', type: TEXT, nullable: true },
  { name: 'writerequire', type: TEXT, nullable: true },
]
const COLUMN_COLUMNS: readonly ResultColumn[] = [
  { name: 'name', type: TEXT, nullable: false },
  { name: 'type', type: TEXT, nullable: false },
  { name: 'ordinal', type: INTEGER, nullable: false },
  { name: 'nullable', type: BOOLEAN, nullable: false },
  { name: 'isprimarykey', type: BOOLEAN, nullable: false },
  { name: 'default', type: TEXT, nullable: true },
  { name: 'checks', type: TEXT, nullable: true },
]
const PLAN_COLUMNS: readonly ResultColumn[] = [{ name: 'plan', type: TEXT, nullable: false }]
const LIVE_COLUMNS: readonly ResultColumn[] = [
  { name: 'method', type: TEXT, nullable: false },
  { name: 'key', type: JSON_TYPE, nullable: true },
  { name: 'reason', type: TEXT, nullable: false },
]
const RETENTION_COLUMNS: readonly ResultColumn[] = [
  { name: 'horizon', type: TIMESTAMP, nullable: true },
  { name: 'cut', type: TIMESTAMP, nullable: true },
  { name: 'rows', type: INTEGER, nullable: false },
  { name: 'oldest', type: TIMESTAMP, nullable: true },
  { name: 'stay', type: JSON_TYPE, nullable: false },
  { name: 'go', type: JSON_TYPE, nullable: false },
]

function statementColumns(statement: BoundStatement): readonly ResultColumn[] {
  switch (statement.kind) {
    case 'query':
      return statement.columns
    case 'insert':
    case 'update':
    case 'delete':
      return statement.returning.map(resultColumn)
    case 'explain':
      return PLAN_COLUMNS
    case 'explain-live':
      return LIVE_COLUMNS
    case 'explain-retention':
      return RETENTION_COLUMNS
    case 'show-tables':
      return TABLE_COLUMNS
    case 'describe':
      return COLUMN_COLUMNS
    default:
      return []
  }
}

function resultColumn({ name, expression: { type, nullable } }: OutputItem): ResultColumn {
  return { name, type, nullable }
}
