/** A catalogue with tables of the test, as sessions call it: no listener, the real process. */
import { tmpdir } from 'node:os'
import { after } from 'node:test'
import { DEMO } from '../../packages/server/src/declarative/demo.ts'
import { readDefinition, type TableDefinition } from '../../packages/server/src/query/catalogue/definition.ts'
import { CatalogueSnapshot } from '../../packages/server/src/query/catalogue/snapshot.ts'
import { type CatalogueEnv, openCatalogue } from '../../packages/server/src/wire/catalogue/catalogue.ts'
import type { Catalogue, CatalogueCaller, CatalogueResult } from '../../packages/server/src/wire/catalogue/contract.ts'

export const VERSION = '15.0 (Gatehouse 1.0.0)'

/** Statements have the time that a busy machine needs, if a test does not say otherwise. */
export function useCatalogue(settings: Partial<CatalogueEnv> = {}): Catalogue {
  const env = { version: VERSION, startedAt: 0, dataFolder: tmpdir(), statementMilliseconds: 30_000 }
  const catalogue = openCatalogue({ ...env, ...settings })
  after(() => catalogue.close())
  return catalogue
}

export interface ColumnText {
  readonly name: string
  readonly type: string
  readonly nullable?: boolean | undefined
  readonly default?: string | undefined
}

/** The key is the first column. */
export function buildTable(
  id: number,
  name: string,
  columns: readonly ColumnText[],
  rest: Partial<TableDefinition> = {},
): TableDefinition {
  const definition = {
    columns: columns.map((column) => ({ nullable: true, default: null, ...column })),
    primaryKey: [columns[0]?.name ?? ''],
    uniques: [],
    indexes: [],
  }
  const row = {
    name,
    definition: JSON.stringify(definition),
    readScope: null,
    writeScope: null,
    rowFilter: null,
    description: null,
    created: 0n,
    kept: null,
    id: BigInt(id),
  }
  return { ...readDefinition(row), ...rest }
}

/** The tables of the demonstration, numbered in their order. */
export function demoTables(): TableDefinition[] {
  return (DEMO.tables ?? []).map((table, index) => {
    const keys = table.columns.filter((column) => column.primary_key === true).map((column) => column.name)
    const columns = table.columns.map(({ name, type, nullable, primary_key: isKey }) => ({
      name,
      type: type.replace(/,(\d)/, ', $1'),
      nullable: isKey === true ? false : nullable !== false,
    }))
    return buildTable(index + 1, table.name, columns, {
      primaryKey: keys,
      description: table.description,
      readScope: table.read_scope ?? undefined,
      writeScope: table.write_scope ?? undefined,
    })
  })
}

export function createCaller(
  tables: readonly TableDefinition[],
  scopes: readonly string[] = ['Platform/Market'],
  user = 'alice',
): CatalogueCaller {
  const session = { user, owner: user, processId: 1, cancelBackend: async () => false }
  return { snapshot: new CatalogueSnapshot(tables), scopes: new Set(scopes), ...session }
}

const NEVER = new AbortController().signal

export function ask(
  catalogue: Catalogue,
  caller: CatalogueCaller,
  text: string,
  ...parameters: (string | null)[]
): Promise<CatalogueResult> {
  return catalogue.run(text, parameters, caller, NEVER)
}

export async function readRows(
  catalogue: Catalogue,
  caller: CatalogueCaller,
  text: string,
  ...parameters: (string | null)[]
) {
  return (await ask(catalogue, caller, text, ...parameters)).rows
}
