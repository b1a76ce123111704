/** Checks the servers of PostgreSQL: one primary, all reachable, commits that wait for a standby, nothing lost. */
import type { Config } from '../../config/config.ts'
import { formatAddress, namedServers } from '../../store/database/servers/addresses.ts'
import { type SurveyedServer, surveyServers } from '../../store/database/servers/survey.ts'
import { type Checked, type Finding, fault, warning } from './finding.ts'

/** `backupUrl` also where only the server has the setting. */
export async function checkServers({ databaseUrl }: Config, backupUrl: string): Promise<readonly Checked[]> {
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
    backupUrl === '' ? undefined : checkArchiving(primaries),
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

/** Between two dumps, only the archive has what was written. */
function checkArchiving(primaries: readonly SurveyedServer[]): Checked {
  const is = (state: SurveyedServer['archiving']): boolean => primaries.some(({ archiving }) => archiving === state)
  const loss = 'what is written between two dumps at backup_url is lost with its disk'
  if (is('off') || is('unset'))
    return warning(
      'database.not_archived',
      `The database does not archive its write-ahead log (${is('off') ? 'archive_mode is off' : 'archive_command is empty'}): ${loss}`,
      'Set up pgBackRest or WAL-G; see docs/replication.md.',
    )
  if (is('failing'))
    return warning(
      'database.archive_fails',
      `The last attempt of the database to archive its write-ahead log failed (pg_stat_archiver): ${loss}`,
      'See why in the log of PostgreSQL; until it succeeds, the log also fills the disk of the database.',
    )
  return undefined
}
