/** Checks the servers of PostgreSQL: one primary, all reachable, commits that wait for a standby, nothing lost. */
import type { Config } from '../../config/config.ts'
import { formatAddress, namedServers } from '../../store/database/servers/addresses.ts'
import { surveyServers } from '../../store/database/servers/survey.ts'
import { type Checked, type Finding, fault, warning } from './finding.ts'

export async function checkServers({ databaseUrl, backupUrl }: Config): Promise<readonly Checked[]> {
  if (databaseUrl === '') return []
  const servers = await surveyServers(databaseUrl)
  const primaries = servers.filter(({ identity }) => identity !== undefined && !identity.isStandby)
  const lost = primaries
    .flatMap(({ history }) => history)
    .find((entry) => entry.lost !== undefined && !entry.isAccepted)
  const findings: Checked[] = [
    lost &&
      fault(
        'database.lost_writes',
        `Writes are stopped: ${lost.lost}`,
        'Find out which writes are missing, then run "gatehouse database accept"; see docs/high-availability.md.',
      ),
    backupUrl !== '' && primaries.some(({ isArchived }) => !isArchived)
      ? warning(
          'database.not_archived',
          'The database does not archive its write-ahead log (archive_mode is off): what is written between two dumps at backup_url is lost with its disk',
          'Set up pgBackRest or WAL-G; see docs/replication.md.',
        )
      : undefined,
  ]
  if (!namedServers(databaseUrl).isFailover) return findings
  return [
    ...findings,
    ...servers.flatMap(({ address, error }): Finding[] =>
      error === undefined
        ? []
        : [
            warning(
              'database.server_unreachable',
              `The database server ${formatAddress(address)} cannot be reached (${error})`,
              'Start it, or remove it from GATEHOUSE_DATABASE_URL: without it the database may be unable to fail over.',
            ),
          ],
    ),
    primaries.length > 1
      ? fault(
          'database.two_primaries',
          `The database has ${primaries.length} primaries: ${primaries.map(({ address }) => formatAddress(address)).join(', ')}. Nodes use the one with the latest timeline`,
          'Stop the other, and make it a standby (Patroni: patronictl reinit).',
        )
      : undefined,
    primaries.length === 1 && primaries[0]?.synchronousStandbys === ''
      ? warning(
          'database.asynchronous',
          'The primary does not wait for a standby when it commits (synchronous_standby_names is empty): a failover can lose acknowledged writes',
          'Set synchronous_mode: true in Patroni, or synchronous_standby_names; see docs/high-availability.md.',
        )
      : undefined,
  ]
}
