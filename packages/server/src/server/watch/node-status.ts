/** The state of this node for the administration: what it is, whether it is ready, how busy it is, and its figures of the last hour. */

import { statfsSync } from 'node:fs'
import type { Server } from 'node:net'
import { promisify } from 'node:util'
import { VERSION } from 'gatehouse-protocol'
import type { JsonObject } from '../../admin/request/body.ts'
import type { Config } from '../../config/config.ts'
import type { Bus } from '../../events/bus.ts'
import type { ReadinessCheck } from '../../http/health.ts'
import type { QueryService } from '../../query/index.ts'
import type { Gateway } from '../../streaming/streaming.ts'
import { type FigureHistory, Figures, SAMPLE_MS } from '../../telemetry/figure-history.ts'
import { type LoopDelay, watchLoopDelay } from '../../telemetry/loop-delay.ts'
import type { Metrics } from '../../telemetry/metrics.ts'
import type { Resources } from '../resources.ts'
import type { WorkerLink } from '../worker-link.ts'
import type { Cleanup } from './cleanup.ts'

export interface NodeParts {
  readonly config: Config
  readonly resources: Resources
  readonly bus: Bus
  readonly server: Server
  readonly readiness: Readonly<Record<string, ReadinessCheck>>
  readonly query: Pick<QueryService, 'load' | 'keeper'> | undefined
  readonly gateway: Pick<Gateway, 'connections'> | undefined
  readonly worker: Pick<WorkerLink, 'number'> | undefined
  readonly metrics: Metrics
}

export interface NodeReplies {
  readonly status: () => Promise<JsonObject>
  /** The figures after a time, of the last hour. */
  readonly figures: (since: number) => FigureHistory
}

export function createNodeReplies(parts: NodeParts, cleanup: Cleanup): NodeReplies {
  const { clock } = parts.resources
  const delay = watchLoopDelay()
  cleanup.add(() => delay.stop())
  const figures = new Figures({ metrics: parts.metrics, loopDelay: delay.read })
  const sample = () => figures.sample(clock())
  sample()
  // Soon, so that the charts of a node that has just started are not empty.
  const first = setTimeout(sample, SAMPLE_MS / 5)
  const sampling = setInterval(sample, SAMPLE_MS)
  for (const timer of [first, sampling]) {
    timer.unref()
    cleanup.add(() => clearTimeout(timer))
  }
  return { status: createNodeStatus(parts, delay), figures: (since) => figures.since(since) }
}

function createNodeStatus(parts: NodeParts, delay: { read(): LoopDelay }): () => Promise<JsonObject> {
  const { config, resources, bus, server, readiness, query, gateway, worker } = parts
  const { database, audit, clock } = resources
  const startedAt = clock()
  const countConnections = promisify(server.getConnections.bind(server))
  return async () => {
    const checks = await Promise.all(
      Object.entries(readiness).map(async ([name, check]) => [name, (await check()) ?? 'ok'] as const),
    )
    const { rss, heapUsed } = process.memoryUsage()
    const { user, system } = process.cpuUsage()
    const streams = gateway?.connections()
    return {
      version: VERSION,
      worker: worker?.number ?? null,
      runtime: `Node ${process.versions.node}`,
      services: config.services,
      database: database.engine,
      started_at: new Date(startedAt).toISOString(),
      uptime_seconds: Math.floor((clock() - startedAt) / 1000),
      ready: checks.every(([, state]) => state === 'ok'),
      checks: Object.fromEntries(checks),
      event_loop_lag_ms: delay.read(),
      cpu_seconds: Math.round((user + system) / 1e4) / 100,
      memory_bytes: rss,
      heap_bytes: heapUsed,
      disk_free_bytes: freeBytes(config.data),
      connections: await countConnections(),
      streams: streams?.length ?? null,
      subscriptions: streams?.reduce((sum, { subscriptions }) => sum + subscriptions, 0) ?? null,
      keeper: query?.keeper.isHolding ?? null,
      queries: query === undefined ? null : countQueries(query),
      database_connections: database.pool() ?? null,
      bus_lag_ms: Math.round(bus.lag()),
      audit_waiting_rows: audit.waiting,
    }
  }
}

function countQueries(query: Pick<QueryService, 'load'>): JsonObject {
  const { running, waiting, liveStatements, busy, total } = query.load()
  return { running, waiting, live: liveStatements, slots: { busy, total } }
}

/** Null where it cannot be read. */
function freeBytes(folder: string): number | null {
  try {
    const { bavail, bsize } = statfsSync(folder)
    return bavail * bsize
  } catch {
    return null
  }
}
