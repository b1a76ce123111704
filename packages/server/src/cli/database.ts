/** `gatehouse database …`: the servers of PostgreSQL as this machine sees them, and how to continue after a failover that lost writes. */
import { BadSetting } from '../config/parsers.ts'
import type { DataLocation } from '../store/database/database.ts'
import { formatAddress, namedServers } from '../store/database/servers/addresses.ts'
import { type AcceptedServer, acceptLoss } from '../store/database/servers/history.ts'
import { withConnection } from '../store/database/servers/one-connection.ts'
import { DatabaseServers } from '../store/database/servers/servers.ts'
import { type SurveyedServer, surveyServers } from '../store/database/servers/survey.ts'
import { readSeenTimeline, type SeenTimeline, writeSeenTimeline } from '../store/database/servers/timeline-file.ts'
import { UnfitServer } from '../store/database/servers/unfit-server.ts'
import type { Arguments } from './args.ts'
import { loadSettings } from './settings.ts'

export async function databaseStatus(args: Arguments): Promise<void> {
  const { url, dataFolder } = await requirePostgres(args)
  const surveyed = await surveyServers(url)
  const used = usedPrimary(surveyed, namedServers(url).isFailover ? readSeenTimeline(dataFolder) : undefined)
  const servers = surveyed.map((server) => describe(server, server === used))
  if (args.has('--json')) {
    process.stdout.write(`${JSON.stringify({ servers }, null, 2)}\n`)
    return
  }
  for (const { server, role, is_used, timeline, error, waits_for, lost } of servers) {
    const details = [
      timeline === null ? '' : `timeline ${timeline}`,
      is_used ? 'in use' : '',
      error ?? '',
      waits_for === null ? '' : waits_for,
    ]
    process.stdout.write(`${[server, role, ...details.filter((text) => text !== '')].join('  ')}\n`)
    if (lost !== null) process.stdout.write(`  writes are stopped: ${lost}\n`)
  }
}

/** The server that the URL leads to now is the right one, whatever this machine remembers: nothing changes unless it answers. */
export async function databaseAccept(args: Arguments): Promise<void> {
  const { url, dataFolder } = await requirePostgres(args)
  const { isFailover } = namedServers(url)
  const before = readSeenTimeline(dataFolder)
  const server = await acceptPrimary(url, isFailover && before !== undefined ? dataFolder : undefined)
  const { lost: accepted } = server
  const timeline = isFailover ? remember(dataFolder, before, server) : undefined
  if (args.has('--json')) {
    process.stdout.write(`${JSON.stringify({ accepted, timeline: timeline ?? null }, null, 2)}\n`)
    return
  }
  process.stdout.write(
    accepted.length > 0
      ? `Accepted: ${accepted.join('; ')}.\nEvery node writes again within a second.\n`
      : `No loss is waiting to be accepted${timeline === undefined ? '; nothing was changed' : ''}.\n`,
  )
  if (timeline === undefined) return
  const was = before === undefined ? 'nothing' : `timeline ${before.timeline} of ${before.system}`
  process.stdout.write(
    `This machine now remembers timeline ${timeline.timeline} of the cluster ${timeline.system} (before: ${was}). Restart the node that runs here.\n`,
  )
}

/**
 * A primary of the timeline that the folder remembers, or of a later one, comes first: beside it an old primary may answer sooner. The
 * old one is accepted if no other answers.
 */
async function acceptPrimary(url: string, dataFolder: string | undefined): Promise<AcceptedServer> {
  const servers = new DatabaseServers(url, { dataFolder })
  try {
    const config = { application_name: 'gatehouse accept', connectionTimeoutMillis: 5000 }
    return await withConnection({ url, dataFolder: dataFolder ?? '', servers }, config, acceptLoss)
  } catch (error) {
    if (dataFolder === undefined || !(error instanceof UnfitServer)) throw error
  } finally {
    await servers.close()
  }
  return acceptPrimary(url, undefined)
}

/** Returns what has changed. */
function remember(
  dataFolder: string,
  before: SeenTimeline | undefined,
  { system, timeline }: AcceptedServer,
): SeenTimeline | undefined {
  if (timeline === undefined || (before?.system === system && before.timeline === timeline)) return undefined
  const seen = { system, timeline }
  writeSeenTimeline(dataFolder, seen)
  return seen
}

async function requirePostgres(args: Arguments): Promise<DataLocation> {
  const { config } = await loadSettings(args)
  if (config.databaseUrl !== '') return { dataFolder: config.data, url: config.databaseUrl }
  throw new BadSetting('The database is SQLite, which has one file and no servers: set GATEHOUSE_DATABASE_URL.')
}

/** The primary that the node of the data folder uses: of several the one with the latest timeline, and none older than it has seen. */
function usedPrimary(servers: readonly SurveyedServer[], seen: SeenTimeline | undefined): SurveyedServer | undefined {
  const timeline = ({ identity }: SurveyedServer) => identity?.timeline ?? 0
  const primaries = servers.filter(
    (server) =>
      server.identity !== undefined &&
      !server.identity.isStandby &&
      (seen === undefined || (server.identity.system === seen.system && timeline(server) >= seen.timeline)),
  )
  return primaries.toSorted((one, other) => timeline(other) - timeline(one))[0]
}

function describe({ address, identity, error, synchronousStandbys, history }: SurveyedServer, isUsed: boolean) {
  const isPrimary = identity !== undefined && !identity.isStandby
  const lost = history.find((incarnation) => incarnation.lost !== undefined && !incarnation.isAccepted)?.lost
  return {
    server: formatAddress(address),
    role: identity === undefined ? 'unreachable' : isPrimary ? 'primary' : 'standby',
    is_used: isUsed,
    timeline: identity?.timeline ?? null,
    error: error ?? null,
    waits_for: isPrimary
      ? synchronousStandbys === ''
        ? 'commits wait for no standby'
        : `commits wait for ${synchronousStandbys}`
      : null,
    lost: isPrimary ? (lost ?? null) : null,
  }
}
