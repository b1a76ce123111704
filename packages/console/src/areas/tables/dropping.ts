/** Dropping what a table consists of, and the table. Each asks first, shows the statement, and says what happened. */
import { confirm } from '../../shell/dialogs.tsx'
import { run } from './alter.tsx'
import type { TableColumn, TableDetail, TableIndex } from './catalogue.ts'
import { nameOf } from './statements.ts'

/** True if the column was dropped, as with the others. */
export function dropColumn(table: TableDetail, { name }: TableColumn): Promise<boolean> {
  const statement = `ALTER TABLE ${nameOf(table.name)} DROP COLUMN ${nameOf(name)}`
  return drop(statement, `the column ${name}`, name, `The values of ${name} in all rows are lost.`)
}

export function dropIndex({ name }: TableIndex): Promise<boolean> {
  const lost = 'Queries that use it become slower; no rows are lost.'
  return drop(`DROP INDEX ${nameOf(name)}`, `the index ${name}`, name, lost)
}

export function dropTable({ name, isview }: TableDetail): Promise<boolean> {
  const kind = isview ? 'view' : 'table'
  const lost = isview ? 'The tables that it reads keep their rows.' : 'All of its rows are lost.'
  return drop(`DROP ${kind.toUpperCase()} ${nameOf(name)}`, `the ${kind} ${name}`, name, lost)
}

async function drop(statement: string, what: string, name: string, lost: string): Promise<boolean> {
  const text = `${lost} It runs: ${statement}`
  const isSure = await confirm({ title: `Drop ${what}?`, text, action: 'Drop', danger: true })
  return isSure && (await run(statement, `Dropped ${name}`))
}
