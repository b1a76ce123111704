/** A user as a SCIM resource (RFC 7643 §4.1). */
import { hash } from 'node:crypto'
import type { AttributeValue, ScimUser, ShownUser } from '../../accounts/scim-reads.ts'
import type { ScimAttribute } from '../attribute-port.ts'
import type { JsonObject } from '../filter/match.ts'
import { USER_SCHEMA } from './user-paths.ts'
import { readState } from './user-state.ts'

export function presentUser(
  { user, externalId, groups }: ShownUser,
  base: string,
  attributes: readonly ScimAttribute[],
): JsonObject {
  const { texts, active } = readState(user, externalId)
  const name = {
    familyName: texts.get('familyName'),
    givenName: texts.get('givenName'),
    middleName: texts.get('middleName'),
  }
  const email = texts.get('email')
  const extended = buildExtensions(user, attributes)
  const resource = {
    schemas: [USER_SCHEMA, ...extended.schemas],
    id: user.id,
    externalId,
    userName: user.username,
    name: Object.values(name).some((part) => part !== undefined) ? name : undefined,
    displayName: texts.get('displayName'),
    locale: texts.get('locale'),
    timezone: texts.get('timezone'),
    active,
    emails: email === undefined ? undefined : [{ value: email, type: 'work' }],
    groups:
      groups.length === 0
        ? undefined
        : groups.map(({ id, displayName }) => ({
            value: id,
            $ref: `${base}/Groups/${id}`,
            display: displayName,
            type: 'direct',
          })),
    ...extended.members,
  }
  return {
    ...resource,
    meta: buildMeta('User', `${base}/Users/${user.id}`, user, JSON.stringify(resource)),
  }
}

/** The version is weak: it stands for what is shown, not for its bytes (RFC 7644 §3.14). */
export function buildMeta(
  resourceType: string,
  location: string,
  { createdAt, updatedAt }: { readonly createdAt: number; readonly updatedAt: number },
  state: string,
) {
  return {
    resourceType,
    created: new Date(createdAt).toISOString(),
    lastModified: new Date(updatedAt).toISOString(),
    location,
    version: `W/"${hash('sha256', state, 'base64url').slice(0, 22)}"`,
  }
}

/** The values of operators' attributes at their paths, in the letters of the definition. */
function buildExtensions({ attributes: values }: ScimUser, attributes: readonly ScimAttribute[]) {
  const members: Members = new Map()
  const schemas = new Set<string>()
  for (const { name, many, scim } of attributes) {
    const held = Object.hasOwn(values, name) ? values[name] : undefined
    if (scim === undefined || held === undefined || held.length === 0) continue
    const { urn, attribute, sub } = spelledPath(scim)
    if (urn !== undefined) schemas.add(urn)
    const places = [urn, attribute, sub].filter((place) => place !== undefined)
    put(members, places, many ? held : held[0])
  }
  return { members: plain(members), schemas: [...schemas] }
}

type Members = Map<string, AttributeValue | readonly AttributeValue[] | Members | undefined>

function put(
  members: Members,
  [name = '', ...rest]: readonly string[],
  value: AttributeValue | readonly AttributeValue[] | undefined,
) {
  if (rest.length === 0) {
    members.set(name, value)
    return
  }
  const known = members.get(name)
  const inner: Members = known instanceof Map ? known : new Map()
  members.set(name, inner)
  put(inner, rest, value)
}

function plain(members: Members): JsonObject {
  return Object.fromEntries([...members].map(([name, value]) => [name, value instanceof Map ? plain(value) : value]))
}

/** A path of an attribute as it is written: the names of members keep their case. */
export function spelledPath(scim: string): { urn: string | undefined; attribute: string; sub: string | undefined } {
  const colon = scim.lastIndexOf(':')
  const urn = colon === -1 ? undefined : scim.slice(0, colon)
  const [attribute = '', sub] = scim.slice(colon + 1).split('.')
  return { urn: urn?.toLowerCase() === USER_SCHEMA.toLowerCase() ? undefined : urn, attribute, sub }
}
