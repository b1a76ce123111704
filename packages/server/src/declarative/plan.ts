/** Computes the changes that turn the current state into the declared one. Pure: decides everything, changes nothing. */

import { CLIENTS } from '../resources/clients.ts'
import type { AnyResource, SecretDigests } from '../resources/define-resource.ts'
import { listResources, type ResourceStates } from '../resources/resources.ts'
import { ROLES } from '../resources/roles.ts'
import { byName, TABLES, type TableTarget } from '../resources/tables.ts'
import { USERS } from '../resources/users.ts'
import type { BoundView } from '../resources/views.ts'
import type { Fault } from '../schema/check-schema.ts'
import {
  differences,
  planSection,
  planSectionRemovals,
  type Removal,
  type ResourceChange,
  stateFor,
  type Upsert,
  upsert,
} from './sections.ts'
import type { Declaration } from './shape.ts'

/** Tables and views are keyed by their lower-case name. */
export interface CurrentState extends ResourceStates {
  readonly tables: ReadonlyMap<string, TableTarget>
  readonly views: ReadonlyMap<string, BoundView>
}

export type Change =
  | ResourceChange
  | (Upsert<'table', TableTarget> & Deleting)
  | (Upsert<'view', BoundView> & Deleting & { readonly before: BoundView | undefined })
  | (Removal<'table'> & Deleting)
  | (Removal<'view'> & Deleting & { readonly before: BoundView })

export interface Deleting {
  /** In a dry run: the rows that the change deletes, counted up to a million. */
  readonly rowsDeleted?: number
}

/**
 * Roles and attributes are created before the users who hold them, and removed after them; so are tables and the views that read them. `views` are
 * those of the declaration, each after those that it uses.
 */
export function plan(
  declaration: Declaration,
  state: CurrentState,
  digests: SecretDigests,
  views: readonly BoundView[] = [],
  resources: readonly AnyResource[] = listResources(),
): Change[] {
  const planned = (resource: AnyResource) => planSection(resource, declaration, stateFor(resource, state), digests)
  return [
    ...resources.filter(({ isBeforeTables }) => isBeforeTables).flatMap(planned),
    ...planTables(declaration, state),
    ...planViews(views, state),
    ...resources.filter(({ isBeforeTables }) => !isBeforeTables).flatMap(planned),
    ...(declaration.prune === true ? planRemovals(declaration, state, resources) : []),
  ]
}

function planTables({ tables = [], prune }: Declaration, state: CurrentState): Change[] {
  return tables.flatMap((table) => {
    const item = TABLES.toItem(table)
    const before = state.tables.get(item.name.toLowerCase())
    // Only a file that says so releases a table.
    const held = table.hold === undefined && before?.hold ? { ...item, hold: true } : item
    const { indexes: listed, ...rest } = held
    const indexes = planIndexes(listed, before?.indexes, prune)
    const target = indexes.length > 0 || before?.indexes !== undefined ? { ...rest, indexes } : rest
    return upsert('table', target.name, before && { ...before, name: target.name }, target) ?? []
  })
}

type Indexes = NonNullable<TableTarget['indexes']>

/** Views may need others than those of the file, which only `prune` drops. */
function planIndexes(listed: Indexes | undefined, existing: Indexes = [], prune = false): Indexes {
  if (listed === undefined) return existing
  const named = new Set(listed.map(({ name }) => name.toLowerCase()))
  const others = prune ? [] : existing.filter(({ name }) => !named.has(name.toLowerCase()))
  return [...listed, ...others].sort(byName)
}

function planViews(views: readonly BoundView[], state: CurrentState): Change[] {
  return views.flatMap((target): Change[] => {
    const before = state.views.get(target.name.toLowerCase())
    const change = upsert('view', target.name, before, target)
    return change === undefined ? [] : [{ ...change, before }]
  })
}

/** Differences from existing tables that cannot be applied. */
export function impossibleChanges(
  declaration: Pick<Declaration, 'tables' | 'prune'>,
  existing: CurrentState['tables'],
): Fault[] {
  const { tables = [] } = declaration
  const held = droppedTables(declaration, existing).filter(({ hold }) => hold)
  return [
    ...tables.flatMap((table, index) => {
      const before = existing.get(table.name.toLowerCase())
      return before === undefined ? [] : columnFaults(before, TABLES.toItem(table), `tables[${index}].columns`)
    }),
    ...held.map(({ name }) => ({ path: 'prune', text: `${name} is held: list it, or release it first` })),
  ]
}

/** The table has rows already: a declaration may only add nullable columns. */
function columnFaults(before: TableTarget, target: TableTarget, path: string): Fault[] {
  const kept = before.columns.flatMap((column, index): Fault[] => {
    const wanted = target.columns.find(({ name }) => name.toLowerCase() === column.name.toLowerCase())
    if (wanted === undefined)
      return [{ path, text: `the table has a column ${column.name} that is not listed; drop it with IQL first` }]
    const [difference] = differences({ ...column, name: '' }, { ...wanted, name: '' })
    return difference === undefined
      ? []
      : [
          {
            path: `${path}[${target.columns.indexOf(wanted)}]`,
            text: `${difference} cannot be changed in place; create a new table and copy the rows (column ${index + 1} of ${before.name})`,
          },
        ]
  })
  const added = target.columns.flatMap((column, index): Fault[] => {
    const isNew = !before.columns.some(({ name }) => name.toLowerCase() === column.name.toLowerCase())
    if (!isNew || (column.nullable && !column.primaryKey && !column.unique)) return []
    return [{ path: `${path}[${index}]`, text: `a column added to the existing table ${before.name} must be nullable` }]
  })
  return [...kept, ...added]
}

/** Prunes only the lists that are in the file: a file without `users` removes no user. */
function planRemovals(declaration: Declaration, state: CurrentState, resources: readonly AnyResource[]): Change[] {
  const first: readonly AnyResource[] = [USERS, ROLES, CLIENTS]
  const others = resources.filter((resource) => !first.includes(resource))
  return [
    ...[...first, ...others].flatMap((resource) =>
      planSectionRemovals(resource, declaration, stateFor(resource, state)),
    ),
    ...droppedViews(declaration, state.views).map((before) => ({ ...removal('view', before.name), before })),
    ...droppedTables(declaration, state.tables).map(({ name }) => removal('table', name)),
  ]
}

/** The views that the declaration removes. */
export function droppedViews(declaration: Declaration, existing: CurrentState['views']): BoundView[] {
  return dropped(declaration, declaration.views, existing)
}

/** The tables that the declaration removes. */
export function droppedTables(
  declaration: Pick<Declaration, 'tables' | 'prune'>,
  existing: CurrentState['tables'],
): TableTarget[] {
  return dropped(declaration, declaration.tables, existing)
}

function dropped<Item>(
  { prune }: Pick<Declaration, 'prune'>,
  declared: readonly { readonly name: string }[] | undefined,
  existing: ReadonlyMap<string, Item>,
): Item[] {
  if (prune !== true || declared === undefined) return []
  const kept = new Set(declared.map(({ name }) => name.toLowerCase()))
  return [...existing].filter(([key]) => !kept.has(key)).map(([, item]) => item)
}

function removal<const What extends string>(what: What, name: string): Removal<What> {
  return { action: 'remove', what, name }
}
