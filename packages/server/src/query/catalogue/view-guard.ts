/** Refuses changes of the catalogue that would break a view: every view always binds, with the columns it was defined with. */

import { sameType } from 'gatehouse-iql'
import { Refusal } from 'gatehouse-protocol'
import { refuse } from '../errors.ts'
import { bindKeptView, refuseBrokenKept, toKeptView } from './create-kept-view.ts'
import { bindView, unrestrictedCatalogue } from './create-view.ts'
import {
  type CatalogueChange,
  type KeptDefinition,
  type TableDefinition,
  usedBy,
  type ViewDefinition,
} from './definition.ts'
import { systemDefinitions } from './system-tables.ts'
import { parseView } from './table-view.ts'

/** The text of all views that one change may bind again: about a third of a second. */
const MAX_CHECKED_CHARACTERS = 1024 * 1024

/** Whether a change can break a view, or defines one. New tables, indexes and rights cannot. */
export function concernsViews(change: CatalogueChange): boolean {
  switch (change.kind) {
    case 'create':
      return change.table.view !== undefined || change.table.kept !== undefined
    case 'drop':
      return true
    case 'alter':
      if (change.step.kind === 'rights') return concernsKept(change)
      return ['drop-index', 'add-column', 'drop-column', 'rename-column', 'replace-view'].includes(change.step.kind)
  }
}

/** Whether changed rights can take something from a materialized view: its log, or a filter that its rows can be told by. */
function concernsKept({ from, table }: Extract<CatalogueChange, { kind: 'alter' }>): boolean {
  return from.isLive !== table.isLive || from.rowFilter !== table.rowFilter
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
    if (table.kept !== undefined) this.#bindKept(table, table.kept)
    if (table.view !== undefined) this.#bindAsDefined(table, table.view)
    const broken = this.#brokenBy(table, table.view !== undefined)
    if (change.kind === 'create') return
    this.#refuseIfAny(broken, table.name)
    this.#checkKept(table)
  }

  /** The views of these rows, and the views of those. */
  #checkKept({ name }: TableDefinition): void {
    for (const view of this.#findUsers(name)) {
      if (view.kept === undefined) continue
      if (this.#definitions.get(name.toLowerCase())?.isLive === false) this.#refuseIfAny([view], name)
      refuseBrokenKept(view, this.#definitions, name)
      this.#checkKept(view)
    }
  }

  /** While the columns of a view stay as they are, only the size of its query matters to the views that use it. */
  #brokenBy({ name }: TableDefinition, mayGrow: boolean): TableDefinition[] {
    const broken: TableDefinition[] = []
    const seen = new Set<TableDefinition>()
    const rest = this.#findUsers(name)
    let characters = 0
    for (let user = rest.shift(); user !== undefined; user = rest.shift()) {
      const text = user.view?.text ?? user.kept?.text
      if (seen.has(user) || text === undefined) continue
      seen.add(user)
      characters += text.length
      if (characters > MAX_CHECKED_CHARACTERS)
        throw refuse('Limit.Complexity', `Too many views depend on ${name}; drop some of them first`)
      if (!this.#binds(user)) broken.push(user)
      else if (mayGrow) rest.push(...this.#findUsers(user.name))
    }
    return broken
  }

  #findUsers(name: string): TableDefinition[] {
    const key = name.toLowerCase()
    return [...this.#definitions.values()].filter((table) => usedBy(table).some((used) => used.toLowerCase() === key))
  }

  #binds(table: TableDefinition): boolean {
    try {
      if (table.view !== undefined) this.#bindAsDefined(table, table.view)
      if (table.kept !== undefined) this.#bindKept(table, table.kept)
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

  #bindKept(table: TableDefinition, { text }: KeptDefinition): void {
    const statement = bindKeptView(
      { name: table.name, columns: table.columns.map(({ name }) => name), text, query: parseView(text) },
      unrestrictedCatalogue(this.#definitions),
    )
    refuseBrokenKept(table, this.#definitions, statement.base.name)
    const bound = toKeptView(statement, table)
    const form = ({ columns, primaryKey, kept }: TableDefinition): string =>
      JSON.stringify([columns.map(({ name, type, nullable }) => [name, type, nullable]), primaryKey, kept?.logged])
    if (form(bound) !== form(table)) throw refuse('Data.Conflict', `What ${table.name} reads has just changed`)
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
