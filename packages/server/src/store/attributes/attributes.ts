/** The definitions of attributes: what the operators' users and clients have besides the standard claims, such as a desk. */
import type { Clock } from 'gatehouse-protocol'
import { type Kysely, sql } from 'kysely'
import type { AttributeValues } from '../accounts/user.ts'
import { createDefinitions } from '../database/definitions.ts'
import { isSqlite } from '../database/migration.ts'
import type { Schema } from '../database/schema.ts'

export type AttributeType = 'Text' | 'Integer' | 'Boolean' | 'Date'

export interface AttributeDefinition {
  readonly name: string
  /** The type and `many` are never changed: values and row filters rest on them. */
  readonly type: AttributeType
  /** Whether it is a set of values; otherwise there is at most one. */
  readonly many: boolean
  /** The name of its claim; undefined where it is in no token. */
  readonly claim: string | undefined
  /** The scope that grants the claim; undefined where only the `claims` parameter requests it. */
  readonly scope: string | undefined
  /** The path of the SCIM attribute that writes it. */
  readonly scim: string | undefined
}

export type Attributes = ReturnType<typeof createAttributes>

/** A caller that changes a definition also publishes `attributes-changed`, in the same transaction. */
export function createAttributes(db: Kysely<Schema>, clock: Clock) {
  const definitions = createDefinitions<AttributeDefinition>(db, clock, {
    table: 'attributes',
    key: 'name',
    absent: { claim: undefined, scope: undefined, scim: undefined },
  })
  return {
    ...definitions,

    /** With the values of all users: an attribute that is declared later under the same name begins empty. */
    async remove(name: string): Promise<void> {
      await definitions.remove(name)
      await db
        .updateTable('users')
        .set({
          attributes: isSqlite(db)
            ? sql<string>`json_remove(attributes, ${`$."${name}"`})`
            : sql<string>`(attributes::jsonb - ${name}::text)::text`,
        })
        .where('attributes', 'like', `%"${name}"%`)
        .execute()
    },

    /** The ids of the clients that have values of the attribute, in order; at most `limit`. */
    async clientsWith(name: string, limit: number): Promise<string[]> {
      const candidates = await db
        .selectFrom('clients')
        .select(['client_id', 'metadata'])
        .where('metadata', 'like', `%"${name}"%`)
        .orderBy('client_id')
        .execute()
      return candidates
        .filter(({ metadata }) => hasValues(JSON.parse(metadata), name))
        .slice(0, limit)
        .map(({ client_id }) => client_id)
    },
  }
}

function hasValues({ attributes = {} }: { readonly attributes?: AttributeValues }, name: string): boolean {
  return Object.hasOwn(attributes, name)
}
