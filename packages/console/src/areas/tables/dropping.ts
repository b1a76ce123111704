/** Dropping a column, an index or a table. Each asks first, shows the statement, and says what happened. */

import { quoteName } from '../../editor/quote.ts'
import { confirm } from '../../shell/dialogs.tsx'
import { word } from '../../ui/word.ts'
import { run } from './alter.tsx'
import type { TableColumn, TableDetail, TableIndex } from './catalogue.ts'

export async function dropColumn(table: TableDetail, { name }: TableColumn, onDropped: () => void): Promise<void> {
  const statement = `ALTER TABLE ${quoteName(table.name)} DROP COLUMN ${quoteName(name)}`
  const lost = `The values of ${name} in all rows are lost.`
  if (await drop(`Drop the column ${name}?`, name, statement, lost)) onDropped()
}

export async function dropIndex({ name }: TableIndex, onDropped: () => void): Promise<void> {
  const lost = 'Queries that use it become slower; no rows are lost.'
  if (await drop(`Drop the index ${name}?`, name, `DROP INDEX ${quoteName(name)}`, lost)) onDropped()
}

export async function dropTable(table: TableDetail, onDropped: () => void): Promise<void> {
  const { name, isview, ismaterialized } = table
  const title = isview || ismaterialized ? `Drop the view ${name}?` : `Drop the table ${name}?`
  const lost = ismaterialized
    ? 'Rows that outlived those of its table are lost for ever.'
    : isview
      ? 'The tables that it reads keep their rows.'
      : 'All of its rows are lost.'
  const what = ismaterialized ? 'MATERIALIZED VIEW' : isview ? 'VIEW' : 'TABLE'
  if (await drop(title, name, `DROP ${what} ${quoteName(name)}`, lost)) onDropped()
}

async function drop(title: string, name: string, statement: string, lost: string): Promise<boolean> {
  const text = word(`${lost} It runs: ${statement}`)
  const isSure = await confirm({ title, text, action: 'Drop', danger: true })
  return isSure && (await run(statement, word(`Dropped ${name}`)))
}
