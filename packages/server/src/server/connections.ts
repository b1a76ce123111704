/** The connection limits of the server: its open-file limit minus the files that it needs itself, and a limit for each address. */
import type { Server } from 'node:http'
import type { Config } from '../config/config.ts'
import {
  type Admission,
  boundConnections,
  type ConnectionBound,
  keepProbeConnections,
  PROBE_CONNECTIONS,
} from '../http/limits/connections.ts'
import { atMostEvery, type Logger } from '../telemetry/log.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import { openFilesLimit } from '../telemetry/open-files.ts'
import { connectionBound } from './options.ts'

/** Databases, their pools, threads, pipes, files that are read: 40 after a start, and as many again under load. */
const OWN_FILES = 128
/** Pipes of a reader process, or a connection to PostgreSQL. */
const FILES_PER_QUERY = 8
/** The least number of connections, even if few files may be opened. */
const FEWEST_CONNECTIONS = 16
/** Fewer than this are worth a warning. */
const FEW_CONNECTIONS = 1_000
const REPORT_EVERY_MS = 60_000

/** Undefined where the limit is not known. */
export function mostConnections(
  { queryConcurrency }: Pick<Config, 'queryConcurrency'>,
  openFiles: number | undefined,
): number | undefined {
  if (openFiles === undefined) return undefined
  return Math.max(FEWEST_CONNECTIONS, openFiles - OWN_FILES - FILES_PER_QUERY * queryConcurrency - PROBE_CONNECTIONS)
}

export function areFew(connections: number | undefined): boolean {
  return connections !== undefined && connections < FEW_CONNECTIONS
}

export interface ConnectionLimits extends Admission {
  setBound(bound: ConnectionBound): void
}

export function limitConnections(
  server: Server,
  config: Config,
  { logger, metrics }: { readonly logger: Logger; readonly metrics: Metrics },
): ConnectionLimits {
  const openFiles = openFilesLimit()
  const most = mostConnections(config, openFiles)
  if (areFew(most))
    logger.warn({ openFiles, connections: most }, 'the open-file limit is low: raise it (ulimit -n, LimitNOFILE)')
  // Without a listener the process would end; the connection is lost, and the next one is accepted. A port that cannot be opened fails the start.
  server.on('error', (error) => {
    if (server.listening) logger.error({ err: error }, 'a connection could not be accepted')
  })
  const report = atMostEvery(REPORT_EVERY_MS, (refused) =>
    logger.error(
      { refused, openFiles, connections: most },
      'refusing connections: the open-file limit has been reached',
    ),
  )
  const setBound = boundConnections(server, connectionBound(config), () =>
    metrics.count('gatehouse_http_connections_refused_total', { limit: 'address' }),
  )
  const admission = keepProbeConnections(server, most ?? Number.POSITIVE_INFINITY, () => {
    metrics.count('gatehouse_http_connections_refused_total', { limit: 'node' })
    report()
  })
  return { ...admission, setBound }
}
