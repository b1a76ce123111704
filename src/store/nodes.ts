/** The nodes on one database: which are there, and what each said to a question that went to all. */
import type { Kysely } from 'kysely'
import type { Clock } from '../protocol/clock.ts'
import type { Schema } from './schema.ts'

export interface Node {
  /** Unique among all that ever ran. */
  readonly id: string
  /** For people: host and process. */
  readonly name: string
}

export type Nodes = ReturnType<typeof createNodes>

/** A node that has not been seen for this long is gone: it says that it is there four times in it. */
const GONE_AFTER_MS = 20_000
export const SEEN_EVERY_MS = GONE_AFTER_MS / 4
/** Answers that nobody fetched. */
const ANSWER_KEPT_MS = 60_000

export function createNodes(db: Kysely<Schema>, clock: Clock) {
  return {
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
        .where('seen_at', '>', clock() - GONE_AFTER_MS)
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
