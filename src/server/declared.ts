/** Applies the declarative file and the demonstration data: the last step of a start, so that nothing can refuse it later. */
import type { Declared } from '../declarative/reconcile.ts'
import type { TablesPort } from '../declarative/tables-port.ts'
import type { Logger } from '../telemetry/log.ts'
import type { Resources } from './resources.ts'

export async function reconcileDeclared(
  declared: Declared | undefined,
  { database, audit, masterKey, clock }: Resources,
  tables: TablesPort | undefined,
  logger: Logger,
): Promise<void> {
  if (declared === undefined) return
  const { reconcile, summarise } = await import('../declarative/reconcile.ts')
  const digestKey = masterKey.derive('declared passwords')
  const changes = await reconcile(declared, { database, clock, environment: process.env, tables, digestKey })
  if (changes.length === 0) return
  logger.info({ source: declared.source, ...summarise(changes) }, 'declaration applied')
  audit.record({ event: 'declaration.applied', details: summarise(changes) })
}
