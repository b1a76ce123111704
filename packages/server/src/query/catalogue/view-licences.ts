/**
 * Licences of materialized views: a view shows what its table does, so that the products that cover the table cover the view, unless products
 * name the view itself. Products that cover rows by a column cover those of the view by its group of that column; without one nobody sees
 * what they cover.
 */
import {
  type FollowedTables,
  type HeldTables,
  joinNeeds,
  type TableAccess,
  type TableCoverage,
  type TableLicences,
} from './licences.ts'
import type { CatalogueSnapshot } from './snapshot.ts'

/** A view, by its name in lower case, and what covers it. */
interface Source {
  readonly table: string
  /** The column of the view for one of the table; undefined if it does not group by it. */
  readonly columnFor: (column: string) => string | undefined
}

export function withViews(licences: TableLicences, snapshot: () => CatalogueSnapshot): TableLicences {
  const sources = (name: string): Source => findSource(name, licences, snapshot())
  return {
    get version() {
      return licences.version
    },
    covers(name) {
      const { table, columnFor } = sources(name)
      const coverage = licences.covers(table)
      return table === name ? coverage : coverage && renameCoverage(coverage, columnFor)
    },
    find(caller, name) {
      const source = sources(name)
      const access = licences.find(caller, source.table)
      return access === undefined || access instanceof Promise ? access : renameAccess(access, name, source)
    },
    hold(caller, needs) {
      const held = licences.hold(
        caller,
        joinNeeds(needs.map((need) => ({ ...need, table: sources(need.table).table }))),
      )
      return held instanceof Promise ? held.then(renameHeld) : renameHeld(held)
    },
    follow(caller, onChange): FollowedTables {
      const followed = licences.follow(caller, onChange)
      return {
        find(name) {
          const source = sources(name)
          const access = followed.find(source.table)
          return access === undefined || access instanceof Promise ? access : renameAccess(access, name, source)
        },
        hold: (needs) => followed.hold(joinNeeds(needs.map((need) => ({ ...need, table: sources(need.table).table })))),
        catchUp: () => followed.catchUp(),
        refusalFor: (name) => followed.refusalFor(sources(name).table),
        setPrincipal: (principal) => followed.setPrincipal(principal),
        close: () => followed.close(),
      }
    },
    delays: (name) => licences.delays(sources(name).table),
    onChanged(listener) {
      licences.onChanged((tables) => {
        const views = snapshot().definitions.flatMap(({ name, kept }) => (kept === undefined ? [] : name.toLowerCase()))
        listener(new Set([...tables, ...views.filter((view) => tables.has(findRoot(view, snapshot())))]))
      })
    },
  }

  function renameHeld(held: HeldTables): HeldTables {
    return {
      find(name) {
        const source = sources(name)
        const access = held.find(source.table)
        return access && renameAccess(access, name, source)
      },
      get refusal() {
        return held.refusal
      },
      catchUp: () => held.catchUp(),
      onLowered: (listener) => held.onLowered(listener),
    }
  }
}

/** What a view reads, down to the first that products name, or to the table. */
function findSource(name: string, licences: TableLicences, snapshot: CatalogueSnapshot): Source {
  const kept = snapshot.findDefinition(name)?.kept
  if (kept === undefined || licences.covers(name) !== undefined) return { table: name, columnFor: (column) => column }
  const below = findSource(kept.uses[0].toLowerCase(), licences, snapshot)
  return {
    table: below.table,
    columnFor(column) {
      const inner = below.columnFor(column)?.toLowerCase()
      return kept.keys.find(({ base }) => base !== undefined && base.toLowerCase() === inner)?.column
    },
  }
}

function findRoot(name: string, snapshot: CatalogueSnapshot): string {
  const kept = snapshot.findDefinition(name)?.kept
  return kept === undefined ? name : findRoot(kept.uses[0].toLowerCase(), snapshot)
}

function renameCoverage({ column, products }: TableCoverage, columnFor: Source['columnFor']): TableCoverage {
  return { column: column === undefined ? undefined : (columnFor(column) ?? NO_COLUMN), products }
}

/** No column has this name: then no row is known to be licensed. */
const NO_COLUMN = ''

/** One object for all who may see the same, as for tables. */
const RENAMED = new WeakMap<TableAccess, Map<string, TableAccess>>()

function renameAccess(access: TableAccess, name: string, { table, columnFor }: Source): TableAccess {
  if (table === name) return access
  const column = access.column === undefined ? undefined : (columnFor(access.column) ?? NO_COLUMN)
  const known = RENAMED.get(access) ?? new Map<string, TableAccess>()
  RENAMED.set(access, known)
  const key = `${name}\n${column}`
  const renamed = known.get(key) ?? { ...access, table: name, column }
  known.set(key, renamed)
  return renamed
}
