/** The definitions of attributes: what the operators' users and clients have besides the standard claims, such as a desk. */
import type { Clock } from 'gatehouse-protocol'
import { type Kysely, sql } from 'kysely'
import type { AttributeValues } from '../accounts/user.ts'
import { isSqlite } from '../database/migration.ts'
import type { Schema } from '../database/schema.ts'

export const ATTRIBUTE_TYPES = ['Text', 'Integer', 'Boolean', 'Date'] as const
export type AttributeType = (typeof ATTRIBUTE_TYPES)[number]

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

export const MOST_ATTRIBUTES = 64
/** Of one attribute of one user or client. */
export const MOST_VALUES = 100

export type Attributes = ReturnType<typeof createAttributes>

/** Whoever changes a definition also publishes `attributes-changed`, in the same transaction. */
export function createAttributes(db: Kysely<Schema>, clock: Clock) {
  const rows = () => db.selectFrom('attributes').select(['name', 'definition'])
  return {
    /** Ordered by name. */
    async list(): Promise<AttributeDefinition[]> {
      return (await rows().orderBy('name').execute()).map(readRow)
    },

    async find(name: string): Promise<AttributeDefinition | undefined> {
      const row = await rows().where('name', '=', name).executeTakeFirst()
      return row && readRow(row)
    },

    async put({ name, ...rest }: AttributeDefinition): Promise<void> {
      const now = clock()
      const definition = JSON.stringify(rest)
      await db
        .insertInto('attributes')
        .values({ name, definition, created_at: now, updated_at: now })
        .onConflict((conflict) => conflict.column('name').doUpdateSet({ definition, updated_at: now }))
        .execute()
    },

    /** With the values of all users: an attribute that is declared later under the same name begins empty. */
    async remove(name: string): Promise<void> {
      await db.deleteFrom('attributes').where('name', '=', name).execute()
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

/** JSON has no undefined members. */
function readRow({ name, definition }: { readonly name: string; readonly definition: string }): AttributeDefinition {
  return { name, claim: undefined, scope: undefined, scim: undefined, ...JSON.parse(definition) }
}
