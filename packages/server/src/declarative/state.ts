/** Reads the current state of what a declaration names, or of everything if it prunes. */

import type { AnyResource } from '../resources/define-resource.ts'
import { readResources } from '../resources/resources.ts'
import type { TableTarget } from '../resources/tables.ts'
import type { BoundView } from '../resources/views.ts'
import type { Stores } from '../store/stores.ts'
import type { CurrentState } from './plan.ts'
import type { Declaration } from './shape.ts'
import { BEING_FILLED, type TableChecks, type TablesPort } from './tables-port.ts'

export async function readState(
  declaration: Declaration,
  stores: Stores,
  tables: TablesPort | undefined,
  resources: readonly AnyResource[],
): Promise<CurrentState> {
  return {
    ...(await readResources(stores, resources, declaration)),
    tables: tables === undefined ? new Map() : await existingTables(tables),
    views: tables === undefined ? new Map() : await existingViews(tables),
  }
}

/** By name in lower case. A table that a crash left partly filled does not count. */
export async function existingTables(tables: TableChecks): Promise<Map<string, TableTarget>> {
  const complete = (await tables.list()).filter(({ description }) => description !== BEING_FILLED)
  return new Map(complete.map((table) => [table.name.toLowerCase(), table]))
}

/** By name in lower case. */
export async function existingViews(tables: TableChecks): Promise<Map<string, BoundView>> {
  return new Map((await tables.listViews()).map((view) => [view.name.toLowerCase(), view]))
}
