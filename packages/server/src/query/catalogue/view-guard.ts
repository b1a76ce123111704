/** Refuses changes of the catalogue that would break a view: every view always binds, with the columns it was defined with. */

import { sameType } from 'gatehouse-iql'
import { Refusal } from 'gatehouse-protocol'
import { refuse } from '../errors.ts'
import { bindView, unrestrictedCatalogue } from './create-view.ts'
import type { CatalogueChange, TableDefinition, ViewDefinition } from './definition.ts'
import { systemDefinitions } from './system-tables.ts'
import { parseView } from './table-view.ts'

/** The text of all views that one change may bind again: about a third of a second. */
const MAX_CHECKED_CHARACTERS = 1024 * 1024

/** Whether a change can break a view, or defines one. New tables, indexes and rights cannot. */
export function concernsViews(change: CatalogueChange): boolean {
  switch (change.kind) {
    case 'create':
      return change.table.view !== undefined
    case 'drop':
      return true
    case 'alter':
      return ['add-column', 'drop-column', 'rename-column', 'replace-view'].includes(change.step.kind)
  }
}

export class ViewGuard {
  /** By the name in lower case. */
  readonly #definitions = new Map<string, TableDefinition>()

  /** `definitions` are those of all tables except system tables. */
  constructor(definitions: Iterable<TableDefinition>) {
    for (const table of systemDefinitions()) this.#set(table)
    for (const table of definitions) this.#set(table)
  }

  /** Refuses the changes, which are made together, or applies them to its state: views are checked against the result of all. */
  accept(changes: readonly CatalogueChange[]): void {
    for (const change of changes) {
      if (change.kind === 'drop') this.#definitions.delete(change.name.toLowerCase())
      else this.#set(change.table)
    }
    for (const change of changes) this.#check(change)
  }

  #check(change: CatalogueChange): void {
    const name = change.kind === 'create' ? change.table.name : change.name
    const table = this.#definitions.get(name.toLowerCase())
    if (table === undefined) this.#refuseIfAny(this.#findUsers(name), name)
    if (table === undefined || !concernsViews(change)) return
    if (table.view !== undefined) this.#bindAsDefined(table, table.view)
    const broken = this.#brokenBy(table, table.view !== undefined)
    if (change.kind !== 'create') this.#refuseIfAny(broken, table.name)
  }

  /** While the columns of a view stay as they are, only the size of its query matters to the views that use it. */
  #brokenBy({ name }: TableDefinition, mayGrow: boolean): TableDefinition[] {
    const broken: TableDefinition[] = []
    const seen = new Set<TableDefinition>()
    const rest = this.#findUsers(name)
    let characters = 0
    for (let user = rest.shift(); user !== undefined; user = rest.shift()) {
      if (seen.has(user) || user.view === undefined) continue
      seen.add(user)
      characters += user.view.text.length
      if (characters > MAX_CHECKED_CHARACTERS)
        throw refuse('Limit.Complexity', `Too many views depend on ${name}; drop some of them first`)
      if (!this.#binds(user, user.view)) broken.push(user)
      else if (mayGrow) rest.push(...this.#findUsers(user.name))
    }
    return broken
  }

  #findUsers(name: string): TableDefinition[] {
    const key = name.toLowerCase()
    return [...this.#definitions.values()].filter(({ view }) => view?.uses.some((used) => used.toLowerCase() === key))
  }

  #binds(table: TableDefinition, view: ViewDefinition): boolean {
    try {
      this.#bindAsDefined(table, view)
      return true
    } catch (error) {
      if (error instanceof Refusal) return false
      throw error
    }
  }

  /** Like the CREATE VIEW that defined it. */
  #bindAsDefined(table: TableDefinition, { text }: ViewDefinition): void {
    const { columns } = bindView(
      { name: table.name, columns: table.columns.map(({ name }) => name), text, query: parseView(text) },
      unrestrictedCatalogue(this.#definitions),
    )
    const isSame = table.columns.every((column, index) => {
      const bound = columns[index]
      return bound !== undefined && sameType(bound.type, column.type) && bound.nullable === column.nullable
    })
    if (!isSame || columns.length !== table.columns.length)
      throw refuse('Data.Conflict', `What the view ${table.name} reads has just changed`)
  }

  #refuseIfAny(views: readonly TableDefinition[], used: string): void {
    if (views.length === 0) return
    const names = views.map(({ name }) => name)
    const subject = views.length === 1 ? 'view' : 'views'
    throw refuse(
      'Data.InUse',
      `${used} is used by the ${subject} ${names.join(', ')}: drop or replace ${views.length === 1 ? 'it' : 'them'} first`,
      { members: { Views: names } },
    )
  }

  #set(table: TableDefinition): void {
    this.#definitions.set(table.name.toLowerCase(), table)
  }
}
