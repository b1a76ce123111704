/** Checks what is sent to `backup_url`, as the replicating process has written it down. */
import type { Config } from '../../config/config.ts'
import { type Finding, fault, ok, warning } from './finding.ts'

const DAY = 86_400_000
const MINUTE = 60_000
/** Two verifications may be missed. */
const VERIFICATIONS = 3

/** `backupUrl` also where only the server has the setting. */
export async function checkReplication(config: Config, backupUrl: string, now: number): Promise<readonly Finding[]> {
  if (backupUrl === '') return []
  const { isReplicating, readStatus } = await import('../../replication/replication.ts')
  const status = readStatus(config.data)
  const isDumped = config.databaseUrl !== ''
  if (status?.base === undefined || status.moment === undefined)
    return [
      warning(
        'backup.none',
        `Nothing can be restored from ${backupUrl} yet${status?.error === undefined ? '' : `: ${status.error}`}`,
        `Start the server, and run "gatehouse doctor" again when the log says that a ${isDumped ? 'dump of PostgreSQL' : 'base of the backup'} is stored.`,
      ),
    ]
  const { behindSince, interruptedSince, error, verified, base, location, moment } = status
  if (interruptedSince !== undefined)
    return [
      fault(
        'backup.interrupted',
        `Changes are not kept for ${location} since ${show(interruptedSince)}${error === undefined ? '' : `: ${error}`}`,
        'Make room on the disk, or raise GATEHOUSE_BACKUP_SPOOL_BYTES, and see why the target is away.',
      ),
    ]
  if (behindSince !== undefined && now - behindSince > 5 * MINUTE)
    return [
      fault(
        'backup.behind',
        `${location} is behind since ${show(behindSince)}${error === undefined ? '' : `: ${error}`}`,
        isDumped
          ? 'See in the log why no dump was taken.'
          : 'See why it cannot be reached, and whether the server runs.',
      ),
    ]
  if (status.isStopped !== true && !isReplicating(status, now))
    return [
      warning(
        'backup.silent',
        `Nothing has replicated this data folder since ${show(status.at)}, and the process that did has not ended in order`,
        'See whether the server runs, and what its log says of the backup. If nothing is to be sent any more, remove the folder "replication" of the data folder.',
      ),
    ]
  if (now - (verified?.at ?? base.at) > VERIFICATIONS * Math.max(config.backupVerifyDays, DAY))
    return [
      warning(
        'backup.unverified',
        `What was sent to ${location} was not restored and checked ${verified === undefined ? 'yet' : `since ${show(verified.at)}`}`,
        'Run "gatehouse backups verify", and see in the log why it fails.',
      ),
    ]
  return [ok('backup', `${location} can be restored as of ${show(moment)}`)]
}

function show(time: number): string {
  return new Date(time).toISOString()
}
