/** Rows of EXPLAIN, DESCRIBE, SHOW TABLES and SHOW COLUMNS, which need no database. */
import type { DescribeTable, Explain, ShowColumns, ShowTables } from '../iql/bound.ts'
import { typeName } from '../iql/types.ts'
import { explain } from '../plan/explain.ts'
import { viewFor } from '../plan/rights.ts'
import type { Cell } from '../results/encoding.ts'
import type { Run } from './call.ts'

export function introspect(statement: Explain | DescribeTable | ShowTables | ShowColumns, run: Run): Cell[][] {
  const { snapshot } = run.planned
  switch (statement.kind) {
    case 'explain':
      return explain(statement.statement, (table) => snapshot.indexesOf(table)).map((line) => [line])
    case 'show-tables':
      return [...viewFor(snapshot, run.principal.scopes).tableNames()].map((name) => [
        name,
        snapshot.table(name)?.isSystem ?? false,
        snapshot.definitionOf(name)?.description ?? null,
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
