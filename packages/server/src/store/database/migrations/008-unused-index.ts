/** No statement finds refresh tokens by their grant, and each refresh wrote a page of that index. */
import type { Kysely } from 'kysely'
import type { Schema } from '../schema.ts'

export const unusedIndex = {
  name: 'unused index',
  async up(db: Kysely<Schema>) {
    await db.schema.dropIndex('refresh_tokens_by_grant_id').execute()
  },
}
