/** The nodes on one database: which are there, and what each said to a question that went to all. */
import { hostname } from 'node:os'
import type { Clock } from '../protocol/clock.ts'
import type { Database, Engine } from './database.ts'

export interface Node {
  /** Unique among all that ever ran. */
  readonly id: string
  /** For people: see `nodeName`. */
  readonly name: string
}

/** Which process of which machine. */
export function nodeName(): string {
  return `${hostname()}:${process.pid}`
}

export type Nodes = ReturnType<typeof createNodes>

/** A node that has not been seen for this long is gone. On a SQLite file, which is at rest at night, they say it seldom. */
const GONE_AFTER_MS: Readonly<Record<Engine, number>> = { postgres: 20_000, sqlite: 3_600_000 }
/** Answers that nobody fetched. */
const ANSWER_KEPT_MS = 60_000

export function createNodes({ db, engine }: Pick<Database, 'db' | 'engine'>, clock: Clock) {
  return {
    /** How often a node should say that it is there. */
    seenEveryMs: GONE_AFTER_MS[engine] / 4,

    /** Before a node is first seen. All nodes on a SQLite file are processes of one machine: those that were killed are forgotten. */
    async arrive(): Promise<void> {
      if (engine !== 'sqlite') return
      const known = await db.selectFrom('nodes').select(['id', 'name']).execute()
      const gone = known.filter(({ name }) => !isRunning(name)).map(({ id }) => id)
      if (gone.length > 0) await db.deleteFrom('nodes').where('id', 'in', gone).execute()
    },

    async seen({ id, name }: Node): Promise<void> {
      await db
        .insertInto('nodes')
        .values({ id, name, seen_at: clock() })
        .onConflict((conflict) => conflict.column('id').doUpdateSet({ seen_at: clock() }))
        .execute()
    },

    async leave(id: string): Promise<void> {
      await db.deleteFrom('nodes').where('id', '=', id).execute()
    },

    present(): Promise<Node[]> {
      return db
        .selectFrom('nodes')
        .select(['id', 'name'])
        .where('seen_at', '>', clock() - GONE_AFTER_MS[engine])
        .orderBy('name')
        .execute()
    },

    async answer(question: string, node: string, body: string): Promise<void> {
      await db
        .insertInto('node_answers')
        .values({ question, node, body, expires_at: clock() + ANSWER_KEPT_MS })
        .onConflict((conflict) => conflict.doNothing())
        .execute()
    },

    async answersTo(question: string): Promise<Map<string, string>> {
      const rows = await db
        .selectFrom('node_answers')
        .select(['node', 'body'])
        .where('question', '=', question)
        .execute()
      return new Map(rows.map(({ node, body }) => [node, body]))
    },

    async forget(question: string): Promise<void> {
      await db.deleteFrom('node_answers').where('question', '=', question).execute()
    },
  }
}

/** Of another process of this machine; what had our own number before us is gone. */
function isRunning(name: string): boolean {
  const pid = Number(name.slice(name.lastIndexOf(':') + 1))
  if (name !== `${hostname()}:${pid}` || pid === process.pid) return false
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM'
  }
}
