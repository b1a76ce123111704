/**
 * The query service, for the rest of the server, which imports no other file of this folder but three: `codecs.ts` for protocols other
 * than HTTP, and, where no service runs, `storage.ts` for `gatehouse move`, `file-schema.ts` for `gatehouse import`. What is not loaded before it
 * is needed is behind a function here.
 */
import type { ApiRoute } from '../http/openapi.ts'
import type { PostgresPlace } from '../store/database/servers/one-connection.ts'
import type { TableChecks } from './catalogue/table-checks.ts'
import type { StoredTablesOptions } from './run/stored-tables.ts'

export type { BulkEnv } from './bulk/bulk.ts'
export type { TableDefinition } from './catalogue/definition.ts'
export { findColumn } from './catalogue/find-column.ts'
export { type LicenceLabel, writeLicences } from './catalogue/licence-labels.ts'
export type { TableLicences } from './catalogue/licences.ts'
export { type CatalogueSnapshot, pageOfTables, requireTable, viewFor } from './catalogue/snapshot.ts'
export type { AgentCallRows } from './engines/agent-calls.ts'
export type {
  AlertDelivery,
  AlertEvent,
  AlertRows,
  AlertRun,
  AlertSilence,
  AlertState,
  AlertWrite,
  DeliveryAttempt,
  ListedDelivery,
} from './engines/alert-rows.ts'
export { type KeeperTerm, TermLost } from './engines/keeper-lease.ts'
export type { WatchRow, WatchRows } from './engines/watch-rows.ts'
export { QUERY_ERRORS, refuse } from './errors.ts'
export { readCursor, writeCursor } from './http/cursor.ts'
export { nextPage, readListParameters, readPageSize } from './http/page-parameters.ts'
export { asKnown, problemOfQuery, replyToError } from './http/problem.ts'
export { readWholeJson, requirePlatformAccess } from './http/request.ts'
export { parameterInput } from './http/statement.ts'
export { isList, isObject, readJson } from './json.ts'
export type { Keeper, Kept, Stop } from './keeper/keeper.ts'
export {
  DEFAULT_RATE,
  type LiveDescription,
  type LiveMessage,
  type LiveQueries,
  type LiveRequest,
  MAX_RATE,
  MIN_RATE,
} from './live/contract.ts'
export { type CopyForm, type Encoding, type ReadOutcome, type WireForm, wireForm } from './model/result.ts'
export { PlanPending, whenPlanned } from './plan/long-plans.ts'
export type { BuiltStatement, Planned } from './plan/planner.ts'
export { findWholeReads } from './plan/whole-reads.ts'
export type { CallPart, QueryResult } from './run/call.ts'
export { catchUpHeld } from './run/licensed.ts'
export {
  type CallParts,
  Planning,
  permit,
  type Ran,
  Run,
  type RunEnv,
  run,
  runWork,
  type StatementCall,
  type Work,
} from './run/run.ts'
export type { RunningQuery } from './run/running.ts'
export type { Documents } from './saved/documents.ts'
export { openQuery, type QueryService } from './service.ts'
export { asUnavailable } from './unavailable.ts'

/** Throws UnfitDatabase if PostgreSQL cannot hold the query data; leaves nothing in the database. */
export async function checkPostgres(place: PostgresPlace): Promise<void> {
  const fitness = await import('./engines/postgres/setup/fitness.ts')
  await fitness.checkPostgres(place)
}

/** Checks of declared tables against those that are stored, before the service is opened. */
export async function checkStoredTables(options: StoredTablesOptions): Promise<TableChecks> {
  const { checksOfStored } = await import('./run/stored-tables.ts')
  return checksOfStored(options)
}

/** The routes of the service in the OpenAPI document. */
export async function describeRoutes(): Promise<ApiRoute[]> {
  const [{ describeQuery }, { describeSaved }] = await Promise.all([
    import('./http/openapi.ts'),
    import('./saved/openapi.ts'),
  ])
  return [...describeQuery(), ...describeSaved()]
}
