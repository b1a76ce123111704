/** `/catalogue`: tables page by page, one table in full, and the words of IQL, for editors and trees of tables. */

import {
  type CatalogueView,
  FORMS,
  FUNCTIONS,
  formatSignature,
  KEYWORDS,
  SPECIAL_FORMS,
  type TableView,
  typeName,
  writeTimestamp,
} from 'gatehouse-iql'
import type { Context } from '../../http/context.ts'
import type { Route, RouteGroup } from '../../http/route.ts'
import type { TableDefinition } from '../catalogue/definition.ts'
import { type CatalogueSnapshot, pageOfTables, requireDefinition, rightsOn, viewFor } from '../catalogue/snapshot.ts'
import type { KeptViewStatus, KeptViews } from '../kept/kept-views.ts'
import type { NodeCatalogue } from '../run/node-catalogue.ts'
import { nextPage, readFlag, readListParameters, readPageSize } from './page-parameters.ts'
import { replyToError } from './problem.ts'
import { requirePlatformAccess } from './request.ts'

export function catalogueGroup(
  catalogue: Pick<NodeCatalogue, 'snapshot'>,
  views: Pick<KeptViews, 'find'>,
  hidesRows: (table: string) => boolean,
): RouteGroup {
  const get = (path: string, handle: (context: Context) => unknown): Route => ({
    method: 'GET',
    path,
    access: requirePlatformAccess,
    handle: async (context) => context.json(await handle(context)),
  })
  return {
    at: ['/catalogue'],
    limit: 'query',
    headers: { 'cache-control': 'no-store' },
    fail: replyToError,
    routes: [
      get('/catalogue/tables', (context) => listTables(context, catalogue.snapshot)),
      get('/catalogue/tables/:table', (context) => showTable(context, catalogue.snapshot, views, hidesRows)),
      get('/catalogue/language', () => LANGUAGE),
    ],
  }
}

function listTables({ principal, query }: Context, snapshot: CatalogueSnapshot): object {
  const text = readListParameters(query, ['prefix', 'system', 'after', 'limit'])
  const view = viewFor(snapshot, principal.scopes)
  const page = {
    prefix: text('prefix') ?? '',
    isSystem: readFlag('system', text('system')),
    after: text('after') ?? '',
    limit: readPageSize(text('limit')),
  }
  const { tables, next } = pageOfTables(snapshot, view, page)
  return {
    items: tables.map((table) => summarizeTable(table, snapshot, view)),
    next: next === undefined ? null : nextPage('/catalogue/tables', query, next),
  }
}

async function showTable(
  context: Context,
  snapshot: CatalogueSnapshot,
  views: Pick<KeptViews, 'find'>,
  hidesRows: (table: string) => boolean,
): Promise<object> {
  const view = viewFor(snapshot, context.principal.scopes)
  const table = requireDefinition(view, context.param('table'))
  const definition = tableDefinition(table, snapshot)
  const { primaryKey, uniques, indexes } = definition
  const kept = await views.find(table.name)
  return {
    ...summarizeTable(table, snapshot, view),
    columns: definition.columns.map(({ name, type, nullable, default: value }) => ({
      name,
      type: typeName(type),
      nullable,
      isprimarykey: primaryKey.includes(name),
      default: value ?? null,
    })),
    primarykey: primaryKey,
    uniques,
    indexes,
    checks: definition.checks ?? [],
    retention: definition.retention ?? null,
    hold: definition.isHeld ?? false,
    rowfilter: snapshot.findRowFilter(table.name) ?? null,
    view: definition.view?.text ?? definition.kept?.text ?? null,
    ...(kept === undefined ? {} : { kept: shownState(kept, hidesRows(table.name)) }),
  }
}

/** How far a materialized view is. */
function shownState({ state, progress, behind, rows, builds, error }: KeptViewStatus, hidesRows: boolean): object {
  return { state, progress, behind, rows: hidesRows ? null : rows, builds, error }
}

/** The members have the names of the columns of cataloguetables. */
function summarizeTable(table: TableView, snapshot: CatalogueSnapshot, caller: CatalogueView): object {
  const { description, readScope, writeScope, created, isLive, isColumnar, view, kept, stepUp } = tableDefinition(
    table,
    snapshot,
  )
  const read = snapshot.readNeed(table.name)
  return {
    name: table.name,
    issystem: table.isSystem,
    description: description ?? null,
    readscope: readScope ?? null,
    writescope: writeScope ?? null,
    requireacr: read?.acr ?? null,
    requireage: read?.age ?? null,
    writerequireacr: stepUp?.write?.acr ?? null,
    writerequireage: stepUp?.write?.age ?? null,
    columns: table.columns.length,
    created: writeTimestamp(created),
    live: isLive,
    columnar: isColumnar ?? false,
    isview: view !== undefined,
    ismaterialized: kept !== undefined,
    rights: rightsOn(table, caller),
    missingscopes: caller.hidden(table.name)?.missing ?? [],
  }
}

function tableDefinition({ name }: TableView, snapshot: CatalogueSnapshot): TableDefinition {
  const definition = snapshot.findDefinition(name)
  if (definition === undefined) throw new Error(`The table ${name} is not in the catalogue`)
  return definition
}

/** From the tables that the parser and the binder use. */
const LANGUAGE = {
  keywords: KEYWORDS,
  types: Object.keys(FORMS).filter((name) => name !== 'Interval'),
  functions: [
    ...FUNCTIONS.map((entry) => ({
      name: entry.name,
      kind: entry.kind,
      group: entry.group,
      signature: formatSignature(entry),
      description: entry.description,
      example: entry.example,
    })),
    ...SPECIAL_FORMS.map(({ name, description, example }) => ({
      name,
      kind: 'scalar',
      group: 'Special forms',
      signature: `${name}(…)`,
      description,
      example,
    })),
  ],
} as const
