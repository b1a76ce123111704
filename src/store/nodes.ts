/** The registry of nodes on one database, and the replies they write to a call that went to all of them. */
import { hostname } from 'node:os'
import type { Clock } from '../protocol/clock.ts'
import type { Database, Engine } from './database.ts'

export interface Node {
  /** Random, and new at every start. */
  readonly id: string
  /** For people: see `nodeName`. */
  readonly name: string
}

/** Host and process. */
export function nodeName(pid = process.pid): string {
  return `${hostname()}:${pid}`
}

export type Nodes = ReturnType<typeof createNodes>

/** A node without a heartbeat for this long is considered gone. SQLite beats rarely, so that an idle disk can sleep. */
const EXPIRES_AFTER_MS: Readonly<Record<Engine, number>> = { postgres: 20_000, sqlite: 3_600_000 }
/** For replies that the caller did not delete. */
const REPLY_KEPT_MS = 60_000

export function createNodes({ db, engine }: Pick<Database, 'db' | 'engine'>, clock: Clock) {
  return {
    heartbeatMs: EXPIRES_AFTER_MS[engine] / 4,

    /** Nodes on a SQLite file are processes of this machine: removes those that were killed. Elsewhere the one that is known to be. */
    async removeDead(name?: string): Promise<void> {
      if (name !== undefined) await db.deleteFrom('nodes').where('name', '=', name).execute()
      if (engine !== 'sqlite') return
      const known = await db.selectFrom('nodes').select(['id', 'name']).execute()
      const dead = known.filter(({ name }) => !isRunning(name)).map(({ id }) => id)
      if (dead.length > 0) await db.deleteFrom('nodes').where('id', 'in', dead).execute()
    },

    async heartbeat({ id, name }: Node): Promise<void> {
      await db
        .insertInto('nodes')
        .values({ id, name, seen_at: clock() })
        .onConflict((conflict) => conflict.column('id').doUpdateSet({ seen_at: clock() }))
        .execute()
    },

    async remove(id: string): Promise<void> {
      await db.deleteFrom('nodes').where('id', '=', id).execute()
    },

    list(): Promise<Node[]> {
      return db
        .selectFrom('nodes')
        .select(['id', 'name'])
        .where('seen_at', '>', clock() - EXPIRES_AFTER_MS[engine])
        .orderBy('name')
        .execute()
    },

    async reply(callId: string, node: string, body: string): Promise<void> {
      await db
        .insertInto('node_answers')
        .values({ question: callId, node, body, expires_at: clock() + REPLY_KEPT_MS })
        .onConflict((conflict) => conflict.doNothing())
        .execute()
    },

    /** The body of each reply, by node id. */
    async repliesTo(callId: string): Promise<Map<string, string>> {
      const rows = await db.selectFrom('node_answers').select(['node', 'body']).where('question', '=', callId).execute()
      return new Map(rows.map(({ node, body }) => [node, body]))
    },

    async deleteReplies(callId: string): Promise<void> {
      await db.deleteFrom('node_answers').where('question', '=', callId).execute()
    },
  }
}

/** Whether another process of this machine has this name. A row with our pid is from an earlier process. */
export function isRunning(name: string): boolean {
  const pid = Number(name.slice(name.lastIndexOf(':') + 1))
  if (name !== `${hostname()}:${pid}` || pid === process.pid) return false
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM'
  }
}
