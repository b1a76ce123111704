/** Brings the stores to what the declarative file and the demonstration say, before the services read their state. */
import type { Config } from '../config.ts'
import type { TablesPort } from '../declarative/tables-port.ts'
import type { Logger } from '../http/log.ts'
import type { Clock } from '../protocol/clock.ts'
import type { Ground } from './ground.ts'

/** On a start that declares nothing none of it is even loaded. */
export async function reconcileDeclared(
  config: Config,
  { database, audit, masterKey }: Ground,
  { tables, logger, clock }: { tables: TablesPort | undefined; logger: Logger; clock: Clock },
): Promise<void> {
  if (config.config === '' && !config.demo) return
  const { findDeclared, reconcile, summarise } = await import('../declarative/reconcile.ts')
  const declared = await findDeclared(config)
  if (declared === undefined) return
  const digestKey = masterKey.derive('declared passwords')
  const changes = await reconcile(declared, { database, clock, environment: process.env, tables, digestKey })
  if (changes.length === 0) return
  logger.info({ source: declared.source, ...summarise(changes) }, 'declaration applied')
  audit.record({ event: 'declaration.applied', details: summarise(changes) })
}
