/** What SCIM stores besides users and roles: names that clients give to them, groups, provisioning tokens, when a client was seen. */
import type { Clock } from 'gatehouse-protocol'
import type { Kysely } from 'kysely'
import type { Schema } from '../database/schema.ts'
import { createExternalIds } from './external-ids.ts'
import { createGroups } from './groups.ts'
import { createMembers } from './members.ts'
import { createProvisioningTokens } from './provisioning-tokens.ts'
import { createScimUsers } from './users.ts'

export type Scim = ReturnType<typeof createScim>

export function createScim(db: Kysely<Schema>, clock: Clock) {
  return {
    ...createExternalIds(db),
    groups: createGroups(db, clock),
    members: createMembers(db),
    tokens: createProvisioningTokens(db, clock),
    users: createScimUsers(db),
  }
}
