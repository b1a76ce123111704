/** `externalId`: what a SCIM client calls a user or group. Each client has its own (RFC 7643 §3.1). */
import type { Kysely } from 'kysely'
import { selectUsers, toUsers, type User } from '../accounts/user.ts'
import type { Schema } from '../database/schema.ts'

export type ResourceKind = 'User' | 'Group'

export class ExternalIdTaken extends Error {
  override name = 'ExternalIdTaken'
}

export function createExternalIds(db: Kysely<Schema>) {
  return {
    /** The user to whom the SCIM client gave this name. */
    async userByExternalId(clientId: string, externalId: string): Promise<User | undefined> {
      const named = db
        .selectFrom('scim_external_ids')
        .select('resource_id')
        .where('client_id', '=', clientId)
        .where('kind', '=', 'User')
        .where('external_id', '=', externalId)
      return toUsers(await selectUsers(db).where('users.id', 'in', named).execute())[0]
    },

    /** Undefined removes it. Throws if the client gave the name to another resource. */
    async setExternalId(
      clientId: string,
      kind: ResourceKind,
      resourceId: string,
      externalId: string | undefined,
    ): Promise<void> {
      await db
        .deleteFrom('scim_external_ids')
        .where('client_id', '=', clientId)
        .where('resource_id', '=', resourceId)
        .execute()
      if (externalId === undefined) return
      const inserted = await db
        .insertInto('scim_external_ids')
        .values({ client_id: clientId, kind, external_id: externalId, resource_id: resourceId })
        .onConflict((conflict) => conflict.columns(['client_id', 'kind', 'external_id']).doNothing())
        .returning('resource_id')
        .executeTakeFirst()
      if (inserted === undefined) throw new ExternalIdTaken(`The externalId ${externalId} belongs to another resource`)
    },

    /** Those that the client gave to these resources. */
    async externalIds(clientId: string, resourceIds: readonly string[]): Promise<ReadonlyMap<string, string>> {
      if (resourceIds.length === 0) return new Map()
      const rows = await db
        .selectFrom('scim_external_ids')
        .select(['resource_id', 'external_id'])
        .where('client_id', '=', clientId)
        .where('resource_id', 'in', resourceIds)
        .execute()
      return new Map(rows.map(({ resource_id, external_id }) => [resource_id, external_id]))
    },
  }
}
