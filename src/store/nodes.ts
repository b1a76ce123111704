/** The nodes on one database: which are there, and what each said to a question that went to all. */
import type { Clock } from '../protocol/clock.ts'
import type { Database, Engine } from './database.ts'

export interface Node {
  /** Unique among all that ever ran. */
  readonly id: string
  /** For people: host and process. */
  readonly name: string
}

export type Nodes = ReturnType<typeof createNodes>

/** A node that has not been seen for this long is gone. The one server of a SQLite file need not write all the time. */
const GONE_AFTER_MS: Readonly<Record<Engine, number>> = { postgres: 20_000, sqlite: 3_600_000 }
/** Answers that nobody fetched. */
const ANSWER_KEPT_MS = 60_000

export function createNodes({ db, engine }: Pick<Database, 'db' | 'engine'>, clock: Clock) {
  return {
    /** How often a node should say that it is there. */
    seenEveryMs: GONE_AFTER_MS[engine] / 4,

    /** Before a node is first seen. Whoever served a SQLite file before it does no more. */
    async arrive(): Promise<void> {
      if (engine === 'sqlite') await db.deleteFrom('nodes').execute()
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
