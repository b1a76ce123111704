/** The tables that are stored, read before the service is opened: nothing is created or changed. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Clock } from 'gatehouse-protocol'
import type { PostgresPlace } from '../../store/database/servers/one-connection.ts'
import { type CatalogueRow, readDefinition } from '../catalogue/definition.ts'
import { CatalogueSnapshot } from '../catalogue/snapshot.ts'
import { createTableChecks, type TableChecks } from '../catalogue/table-checks.ts'

export interface StoredTablesOptions {
  readonly dataFolder: string
  /** Empty for SQLite. */
  readonly url: string
  readonly servers?: PostgresPlace['servers']
  readonly clock: Clock
}

export async function checksOfStored({ dataFolder, url, servers, clock }: StoredTablesOptions): Promise<TableChecks> {
  const rows =
    url === '' ? await readSqlite(join(dataFolder, 'query.db')) : await readPostgres({ url, dataFolder, servers })
  const snapshot = new CatalogueSnapshot(rows.map(readDefinition))
  return createTableChecks(() => snapshot, clock)
}

async function readSqlite(path: string): Promise<readonly CatalogueRow[]> {
  if (!existsSync(path)) return []
  const { readStoredCatalogue } = await import('../engines/sqlite/catalogue.ts')
  return readStoredCatalogue(path)
}

async function readPostgres(place: PostgresPlace): Promise<readonly CatalogueRow[]> {
  const { readStoredCatalogue } = await import('../engines/postgres/catalogue.ts')
  return readStoredCatalogue(place)
}
