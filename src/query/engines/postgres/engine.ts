/** The PostgreSQL engine: connections that have no right beyond the query data; short statements travel together, long ones have cursors and can be cancelled. */
import type { Pool } from 'pg'
import { isShort } from '../../cost.ts'
import type { Engine, WriteReply, WriteRequest } from '../engine.ts'
import { createAuditCopy } from './audit-copy.ts'
import { change } from './change.ts'
import { prepareSchema, readCatalogue } from './define.ts'
import { POSTGRES } from './dialect.ts'
import { createPool, takeFrom, withClient } from './pool.ts'
import { readRows } from './read.ts'
import { toPostgres } from './representation.ts'
import { forgetBefore, recall } from './requests.ts'
import { prepareRole } from './role.ts'
import { createShortReads } from './short-read.ts'
import { createShortWrites, type WriteTogether } from './short-write.ts'
import { isOneStatement, write } from './write.ts'

export interface PostgresOptions {
  readonly url: string
  readonly connections: number
  readonly waitingQueries: number
  /** The database ends a statement on its own a little after this, should the server be unable to. */
  readonly milliseconds: number
}

/** Of each node, beside those for long queries. */
const CONNECTIONS = {
  owner: 2,
  /** Short statements that must go alone: several rows at once, a key that makes a write happen once. */
  alone: 4,
  reads: 2,
  writes: 1,
}
/** What shares a connection may not wait for somebody else's lock for longer, */
const LOCK_MS = 50
/** nor, where it only reads, work for longer. A write is not held to it: a commit that waits for a replica must not be cut short. */
const READ_MS = 1000

export async function openPostgresEngine(options: PostgresOptions): Promise<Engine> {
  const { url, milliseconds, waitingQueries: waiting } = options
  const owner = createPool({ url, milliseconds, max: CONNECTIONS.owner })
  const role = await prepare(owner)
  const poolOf = (max: number, settings = {}): Pool =>
    createPool({
      url,
      milliseconds,
      max,
      settings: { ...(role === '' ? {} : { role }), statement_timeout: milliseconds + 2000, ...settings },
    })
  // Short work has connections of its own, so that long queries cannot hold it up.
  const queries = poolOf(options.connections)
  const alone = poolOf(CONNECTIONS.alone)
  const reads = poolOf(CONNECTIONS.reads, { lock_timeout: LOCK_MS, statement_timeout: READ_MS })
  const writes = poolOf(CONNECTIONS.writes, { lock_timeout: LOCK_MS })
  const pools = [queries, alone, reads, writes]
  const takeLong = takeFrom(queries, waiting)
  const takeShort = takeFrom(alone, waiting)
  const readTogether = createShortReads({ pool: reads, connections: CONNECTIONS.reads, waiting, milliseconds })
  const writeTogether = createShortWrites({ pool: writes, waiting, milliseconds })
  return {
    kind: 'postgres',
    dialect: POSTGRES,
    finish: (slots, marked) => slots.numbered(marked),
    bind: toPostgres,
    read: (request) => readRows(isShort(request.reach) ? takeShort : takeLong, request),
    readSoon: readTogether,
    write: async (request) =>
      (await writeSoon(writeTogether, request)) ?? write(request.isShort ? takeShort : takeLong, request),
    loadCatalogue: () => withClient(owner, readCatalogue),
    change: (request) => change(owner, request),
    recall: (once) => withClient(owner, (client) => recall(client, once)),
    forgetRequests: (before) => forgetBefore(owner, before),
    auditCopy: createAuditCopy(owner),
    get load() {
      const total = pools.reduce((sum, pool) => sum + pool.totalCount, 0)
      return { busy: pools.reduce((sum, pool) => sum - pool.idleCount, total), total }
    },
    check: async () => void (await withClient(owner, readCatalogue)),
    async close() {
      await Promise.all(pools.map((pool) => pool.end()))
      await owner.end()
    },
  }
}

/** Gives the role that queries run as. */
async function prepare(owner: Pool): Promise<string> {
  try {
    return await withClient(owner, async (client) => {
      await prepareSchema(client)
      return prepareRole(client)
    })
  } catch (error) {
    await owner.end()
    throw error
  }
}

async function writeSoon(writeTogether: WriteTogether, request: WriteRequest): Promise<WriteReply | undefined> {
  return request.isShort && isOneStatement(request) ? writeTogether(request) : undefined
}
