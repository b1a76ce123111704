/** A view in FROM: its query is bound in its place, with the rights of the caller. */
import { Refusal } from 'gatehouse-protocol'
import type { DerivedSource, ResultColumn } from '../bound/bound-query.ts'
import type { TableView, ViewQuery } from '../bound/catalogue-view.ts'
import type { Binding } from '../scope/binding.ts'
import type { Name } from '../syntax/ast-query.ts'

export interface ExpandedView {
  readonly source: DerivedSource
  readonly columns: readonly ResultColumn[]
}

/** The query sees nothing of the statement around it: neither its columns nor its WITH names nor its parameters. */
export function expandView(binding: Binding, name: Name, table: TableView, view: ViewQuery): ExpandedView {
  const { expansion } = binding
  const cycle = expansion.findCycle(table)
  if (cycle !== undefined)
    throw binding.fail('BadDefinition', name.at, `A view cannot use itself: ${cycle.join(' uses ')}`)
  const excess = expansion.exceededLimit(view)
  if (excess !== undefined) throw binding.fail('TooComplex', name.at, excess)
  try {
    const query = expansion.within(table, view, () => binding.query(undefined, view.query, { anyNames: true }))
    const columns = table.columns.flatMap((column, index) => {
      const { type, nullable } = query.columns[index] ?? column
      return [{ name: column.name, type, nullable }]
    })
    return { source: { kind: 'derived', id: binding.nextSource(), query }, columns }
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    // A position in the text of the view means nothing in the statement.
    if (error.code === 'IQL.TooComplex') throw binding.fail('TooComplex', name.at, error.message)
    if (error.code === 'IQL.BadDefinition') throw binding.fail('BadDefinition', name.at, error.message)
    // It was checked when it was defined and at each change of what it uses, so this is our bug.
    throw new Error(`The view ${table.name} cannot be bound`, { cause: error })
  }
}
