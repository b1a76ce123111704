/** A group as a SCIM resource (RFC 7643 §4.2). */
import type { ScimGroup } from '../../accounts/scim-reads.ts'
import type { JsonObject } from '../filter/match.ts'
import { buildMeta } from '../users/present-user.ts'
import { GROUP_SCHEMA } from './group-draft.ts'

export interface ShownGroup {
  readonly group: ScimGroup
  readonly externalId: string | undefined
  /** The ids of those to whom the client gave it; undefined where they are not shown. */
  readonly members: readonly string[] | undefined
}

export function presentGroup({ group, externalId, members }: ShownGroup, base: string): JsonObject {
  const { id, displayName, revision } = group
  return {
    schemas: [GROUP_SCHEMA],
    id,
    externalId,
    displayName,
    members:
      members === undefined || members.length === 0
        ? undefined
        : members.map((user) => ({ value: user, $ref: `${base}/Users/${user}`, type: 'User' })),
    // The members are not part of it: the revision changes with them.
    meta: buildMeta('Group', `${base}/Groups/${id}`, group, JSON.stringify([id, displayName, externalId, revision])),
  }
}
