/** What the service can do, and the schemas of its resources (RFC 7643 §5 to §7, RFC 7644 §4, RFC 9865 §3). */
import { offeredLanguages } from '../lib/language-tags.ts'
import { timeZones } from '../lib/time-zones.ts'
import type { ScimAttribute } from './attribute-port.ts'
import type { JsonObject } from './filter/match.ts'
import { GROUP_SCHEMA } from './groups/group-draft.ts'
import { MOST_RESULTS } from './query-parameters.ts'
import { spelledPath } from './users/present-user.ts'
import { USER_SCHEMA } from './users/user-paths.ts'

const CONFIG_SCHEMA = 'urn:ietf:params:scim:schemas:core:2.0:ServiceProviderConfig'
const TYPE_SCHEMA = 'urn:ietf:params:scim:schemas:core:2.0:ResourceType'
const SCHEMA_SCHEMA = 'urn:ietf:params:scim:schemas:core:2.0:Schema'

export function serviceProviderConfig(base: string): JsonObject {
  return {
    schemas: [CONFIG_SCHEMA],
    patch: { supported: true },
    bulk: { supported: false, maxOperations: 0, maxPayloadSize: 0 },
    filter: { supported: true, maxResults: MOST_RESULTS },
    changePassword: { supported: false },
    sort: { supported: false },
    etag: { supported: true },
    pagination: {
      cursor: true,
      index: true,
      defaultPaginationMethod: 'index',
      defaultPageSize: MOST_RESULTS,
      maxPageSize: MOST_RESULTS,
    },
    authenticationSchemes: [
      {
        type: 'oauthbearertoken',
        name: 'OAuth bearer token',
        description: 'An access token with Identity/Provisioning (client credentials), or a provisioning token.',
        specUri: 'https://www.rfc-editor.org/info/rfc6750',
        primary: true,
      },
    ],
    meta: { resourceType: 'ServiceProviderConfig', location: `${base}/ServiceProviderConfig` },
  }
}

export function resourceTypes(base: string, attributes: readonly ScimAttribute[]): JsonObject[] {
  const extensions = [...groupExtensions(attributes).keys()]
  const type = (id: string, endpoint: string, description: string, schema: string, others: readonly string[]) => ({
    schemas: [TYPE_SCHEMA],
    id,
    name: id,
    endpoint,
    description,
    schema,
    schemaExtensions: others.length === 0 ? undefined : others.map((urn) => ({ schema: urn, required: false })),
    meta: { resourceType: 'ResourceType', location: `${base}/ResourceTypes/${id}` },
  })
  return [
    type('User', '/Users', 'Users', USER_SCHEMA, extensions),
    type('Group', '/Groups', 'Roles that are provisioned', GROUP_SCHEMA, []),
  ]
}

export function schemas(base: string, attributes: readonly ScimAttribute[]): JsonObject[] {
  const schema = (id: string, name: string, description: string, list: readonly JsonObject[]) => ({
    schemas: [SCHEMA_SCHEMA],
    id,
    name,
    description,
    attributes: list,
    meta: { resourceType: 'Schema', location: `${base}/Schemas/${id}` },
  })
  const core = attributes.filter(({ scim }) => scim !== undefined && spelledPath(scim).urn === undefined)
  return [
    schema(USER_SCHEMA, 'User', 'A user', [...userAttributes(), ...describe(core)]),
    schema(GROUP_SCHEMA, 'Group', 'A role that is provisioned', GROUP_ATTRIBUTES),
    ...[...groupExtensions(attributes)].map(([urn, own]) =>
      schema(urn, schemaName(urn), 'Attributes that operators have declared', describe(own)),
    ),
  ]
}

/** The schemas of operators' attributes outside of the core. */
function groupExtensions(attributes: readonly ScimAttribute[]): ReadonlyMap<string, ScimAttribute[]> {
  const placed = attributes.flatMap((attribute) => {
    const urn = attribute.scim === undefined ? undefined : spelledPath(attribute.scim).urn
    return urn === undefined ? [] : [{ urn, attribute }]
  })
  const byUrn = Map.groupBy(placed, ({ urn }) => urn)
  return new Map([...byUrn].map(([urn, same]) => [urn, same.map(({ attribute }) => attribute)]))
}

/** `urn:…:extension:enterprise:2.0:User` is EnterpriseUser. */
function schemaName(urn: string): string {
  const words = urn
    .split(':')
    .slice(2)
    .filter((word) => !/^[\d.]+$/.test(word))
  const [kind = '', type = ''] = words.slice(-2)
  return kind.charAt(0).toUpperCase() + kind.slice(1) + type
}

const TYPES = { Text: 'string', Integer: 'integer', Boolean: 'boolean', Date: 'string' } as const

/** Attributes with the same name and different parts are one attribute with several parts. */
function describe(attributes: readonly ScimAttribute[]): JsonObject[] {
  const placed = attributes.map((own) => ({ own, path: spelledPath(own.scim ?? '') }))
  return [...Map.groupBy(placed, ({ path }) => path.attribute)].map(([name, same]) => {
    const [first] = same
    if (first !== undefined && first.path.sub === undefined) return ofOperator(name, first.own)
    const parts = same.map(({ own, path }) => ofOperator(path.sub ?? own.name, own))
    return attribute(name, { type: 'complex', subAttributes: parts })
  })
}

function ofOperator(name: string, { name: own, type, many }: ScimAttribute): JsonObject {
  return attribute(name, { type: TYPES[type], multiValued: many, description: `The attribute ${own}` })
}

/** The defaults of RFC 7643 §2.2. */
function attribute(name: string, others: JsonObject = {}): JsonObject {
  const isText = others.type === undefined || others.type === 'string'
  return {
    name,
    type: 'string',
    multiValued: false,
    description: name,
    required: false,
    ...(isText && { caseExact: false }),
    mutability: 'readWrite',
    returned: 'default',
    ...(isText && { uniqueness: 'none' }),
    ...others,
  }
}

const READ_ONLY = { mutability: 'readOnly' }
const EXACT = { caseExact: true }

function userAttributes(): JsonObject[] {
  const languages = offeredLanguages().map(({ tag }) => tag)
  return [
    attribute('userName', { description: 'The name to sign in with', required: true, uniqueness: 'server' }),
    attribute('externalId', { description: 'The name that this client gives to the user', ...EXACT }),
    attribute('name', {
      type: 'complex',
      subAttributes: [attribute('familyName'), attribute('givenName'), attribute('middleName')],
    }),
    attribute('displayName'),
    attribute('locale', { canonicalValues: languages }),
    attribute('timezone', { canonicalValues: timeZones() }),
    attribute('active', {
      type: 'boolean',
      required: true,
      description: 'false: the user cannot sign in, and has no valid tokens',
    }),
    attribute('emails', {
      type: 'complex',
      multiValued: true,
      description: 'One address, of the type work',
      subAttributes: [attribute('value'), attribute('type', { canonicalValues: ['work'] })],
    }),
    attribute('groups', {
      type: 'complex',
      multiValued: true,
      description: 'The groups that this client has put the user in',
      ...READ_ONLY,
      subAttributes: [
        attribute('value', READ_ONLY),
        attribute('$ref', { type: 'reference', referenceTypes: ['Group'], ...READ_ONLY }),
        attribute('display', READ_ONLY),
        attribute('type', { canonicalValues: ['direct'], ...READ_ONLY }),
      ],
    }),
  ]
}

const GROUP_ATTRIBUTES: readonly JsonObject[] = [
  attribute('displayName', { description: 'The name of the group', required: true, uniqueness: 'server' }),
  attribute('externalId', { description: 'The name that this client gives to the group', ...EXACT }),
  attribute('members', {
    type: 'complex',
    multiValued: true,
    description: 'The users to whom this client has given the role',
    subAttributes: [
      attribute('value', { mutability: 'immutable' }),
      attribute('$ref', { type: 'reference', referenceTypes: ['User'], mutability: 'immutable' }),
      attribute('type', { canonicalValues: ['User'], mutability: 'immutable' }),
    ],
  }),
]
