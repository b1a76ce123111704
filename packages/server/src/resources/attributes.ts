/** Attributes: what users and clients can have besides the standard claims, such as a desk; and their values in a declaration. */
import { isReservedClaim, nearest } from 'gatehouse-protocol'
import type { XStatic } from 'typebox/schema'
import { closed, either, flag, number, oneOf, shortList, text } from '../schema/builders.ts'
import type { Fault } from '../schema/check-schema.ts'
import type { AttributeValue, AttributeValues } from '../store/accounts/user.ts'
import { MOST_VALUES, parseAttributes } from '../store/attributes/attribute-values.ts'
import type { AttributeDefinition, AttributeType } from '../store/attributes/attributes.ts'
import type { JsonObject, Known, Resource } from './define-resource.ts'

export type DeclaredAttribute = XStatic<typeof ATTRIBUTE>
export type DeclaredValues = XStatic<typeof ATTRIBUTE_VALUES>

const ATTRIBUTE_NAME = /^[a-z][a-z0-9_]{0,62}$/
/** A name, or a URI of the operator's as RFC 7519 §4.2 advises. */
const CLAIM_NAME = /^[A-Za-z][A-Za-z0-9_.:/~-]*$/
/** RFC 7644 §3.10: an attribute or one of its parts, after the URN of its schema unless that is the core schema. */
const SCIM_PATH = /^(?:urn:[A-Za-z0-9][A-Za-z0-9.:_-]*:)?[A-Za-z][A-Za-z0-9_$-]*(?:\.[A-Za-z][A-Za-z0-9_$-]*)?$/

const TYPES = ['Text', 'Integer', 'Boolean', 'Date'] as const satisfies readonly AttributeType[]
const MOST_ATTRIBUTES = 64

const ATTRIBUTE = closed(['name', 'type'], {
  name: text({ pattern: ATTRIBUTE_NAME.source, description: 'In row filters: :attribute.name.' }),
  type: oneOf(TYPES, 'Of the values. It cannot be changed.'),
  many: flag('Whether users and clients can have several values. It cannot be changed. Default: false.'),
  claim: text({
    pattern: CLAIM_NAME.source,
    maxLength: 128,
    description: 'The claim in tokens and at userinfo; a list if many is true. Default: none.',
  }),
  scope: text({
    minLength: 1,
    maxLength: 128,
    description: 'The scope with which the claim comes. Default: none; then only the claims parameter requests it.',
  }),
  scim: text({
    pattern: SCIM_PATH.source,
    maxLength: 512,
    description:
      'The SCIM attribute that writes it, such as urn:ietf:params:scim:schemas:extension:enterprise:2.0:User:department.',
  }),
})

const VALUE = either(text(), number('number'), flag())

/** What a type allows is checked later: see parseAttributeValues. */
export const ATTRIBUTE_VALUES = {
  type: 'object',
  additionalProperties: either(text(), number('number'), flag(), {
    type: 'array',
    items: VALUE,
    maxItems: MOST_VALUES,
  } as const),
  description: 'Values of declared attributes, such as {"desk": ["FX"]}.',
} as const

/** Of commands about users and clients. */
export const VALUE_OPTION = {
  '--attribute': {
    isRead: true,
    value: 'NAME=VALUE',
    repeatable: true,
    help: 'a value of an attribute, replacing all its earlier ones; repeatable. NAME= removes them',
  },
} as const

export const ATTRIBUTES = {
  noun: 'attribute',
  section: 'attributes',
  isBeforeTables: true,
  key: 'name',
  scope: 'Identity/Admin',
  list: shortList(ATTRIBUTE, 'Attributes that users and clients can have, such as a desk.'),
  patterns: [
    [
      ATTRIBUTE_NAME.source,
      'must consist of up to 63 lower-case letters, digits and underscores, and begin with a letter',
    ],
    [CLAIM_NAME.source, 'must begin with a letter, and consist of letters, digits and the characters _ . : / ~ -'],
    [SCIM_PATH.source, 'must be the path of a SCIM attribute, such as department or urn:…:User:department'],
  ],
  toItem: ({ name, type, many = false, claim, scope, scim }) => ({ name, type, many, claim, scope, scim }),
  present: presentAttribute,
  compare: (attribute) => presentAttribute(attribute),
  declare: ({ name, type, many, ...claim }) => ({ name, type, ...(many && { many }), ...declareClaim(claim) }),
  namedScopes: ({ scope }) => [scope],
  refersTo: ['scopes'],
  faults: attributeFaults,
  faultsTogether: attributesFaults,
  refusal: async (...change) => (await import('./attribute-uses.ts')).refuseUsed(...change),
  isNamedByTables: true,
  isNewerThanNodes: () => true,
  store: ({ attributes }) => attributes,
  changedEvent: 'attributes-changed',
  isExportedIfAny: true,
  routes: {
    list: 'Lists the attributes, ordered by name.',
    create: 'Declares an attribute. All nodes have it at once.',
    show: 'Shows an attribute.',
    change: 'Changes an attribute (JSON merge patch): its claim, scope or SCIM path. The name, type and `many` stay.',
    remove:
      'Removes an attribute with the values of all users. One that row filters, clients, APIs or providers use is not removed: the reply names them.',
    instead: 'declare another attribute',
  },
  commands: {
    argument: 'ATTRIBUTE',
    options: {
      '--type': {
        value: 'TYPE',
        help: 'Text, Integer, Boolean or Date (default Text); it cannot be changed',
        only: 'add',
        default: 'Text',
      },
      '--many': { help: 'users and clients can have several values; it cannot be changed', only: 'add' },
      '--claim': { value: 'NAME', help: 'the claim in tokens and at userinfo' },
      '--scope': { value: 'SCOPE', help: 'the scope that includes the claim' },
      '--scim-path': {
        member: 'scim',
        value: 'PATH',
        help: 'the SCIM attribute that writes it, such as urn:…:User:department',
      },
      '--without': { resets: true, value: 'MEMBER', help: 'remove claim, scope or scim; repeatable' },
    },
    columns: ['name', 'type', 'many', 'claim', 'scope', 'scim'],
    list: {
      summary: 'Lists the attributes that users and clients can have.',
      examples: ['attribute list', 'attribute list --json'],
    },
    show: { summary: 'Shows an attribute.', examples: ['attribute show desk'] },
    add: {
      summary: 'Declares an attribute, which row filters use as :attribute.NAME.',
      examples: ['attribute add desk --many --claim desk --scope profile', 'attribute add level --type Integer'],
    },
    set: {
      summary: 'Changes the claim, scope or SCIM path of an attribute.',
      examples: ['attribute set desk --scope roles', 'attribute set desk --without scope'],
    },
    remove: {
      summary: 'Removes an attribute and its values, unless row filters, clients, APIs or providers use it.',
      examples: ['attribute remove desk --yes'],
      confirm: (attribute) => `Remove the attribute ${attribute} with the values of all users?`,
      done: (attribute) => `The attribute ${attribute} was removed.`,
    },
  },
} as const satisfies Resource<AttributeDefinition, DeclaredAttribute>

/** What one definition alone cannot have. */
function attributeFaults({ claim, scope, scim }: DeclaredAttribute, known: Pick<Known, 'scopes'>): Fault[] {
  const faults: Fault[] = []
  const fault = (path: string, reason: string) => faults.push({ path, text: reason })
  if (claim !== undefined && isReservedClaim(claim)) fault('claim', `"${claim}" has a meaning already: choose another`)
  if (scope !== undefined && claim === undefined) fault('scope', 'needs a claim')
  // offline_access asks for a refresh token and nothing else.
  const scopes = known.scopes.scopes().filter((name) => name !== 'offline_access')
  if (scope !== undefined && !scopes.includes(scope)) {
    const near = nearest(scope, scopes)
    fault('scope', `unknown scope "${scope}"${near === undefined ? '' : `; did you mean "${near}"?`}`)
  }
  if (scim !== undefined && isOwnScimPath(scim))
    fault('scim', `"${scim}" is written to the user itself: choose another`)
  return faults
}

const CORE_SCHEMA = 'urn:ietf:params:scim:schemas:core:2.0:user:'
/** Those of users that have a place of their own, or that no client may write. */
const OWN_SCIM_ATTRIBUTES: ReadonlySet<string> = new Set([
  ...['id', 'schemas', 'meta', 'username', 'externalid', 'active', 'displayname', 'name', 'locale', 'timezone'],
  ...['emails', 'groups', 'password', 'members'],
])

function isOwnScimPath(path: string): boolean {
  const folded = path.toLowerCase()
  const inCore = folded.startsWith(CORE_SCHEMA) ? folded.slice(CORE_SCHEMA.length) : folded
  return OWN_SCIM_ATTRIBUTES.has(inCore.split('.', 1)[0] ?? '')
}

/** The types stay. */
function attributesFaults(
  after: readonly AttributeDefinition[],
  before: ReadonlyMap<string, AttributeDefinition>,
  memberPath: (name: string) => string,
): Fault[] {
  const faults: Fault[] = []
  if (after.length > MOST_ATTRIBUTES)
    faults.push({ path: '', text: `there can be at most ${MOST_ATTRIBUTES} attributes, not ${after.length}` })
  for (const member of ['claim', 'scim'] as const) {
    const holders = new Map<string, string>()
    for (const attribute of after) {
      const value = attribute[member]?.toLowerCase()
      if (value === undefined) continue
      const holder = holders.get(value)
      if (holder === undefined) holders.set(value, attribute.name)
      else
        faults.push({
          path: `${memberPath(attribute.name)}${member}`,
          text: `is that of the attribute ${holder} already`,
        })
    }
  }
  for (const attribute of after) {
    const former = before.get(attribute.name)
    if (former === undefined) continue
    for (const member of ['type', 'many'] as const)
      if (former[member] !== attribute[member])
        faults.push({
          path: `${memberPath(attribute.name)}${member}`,
          text: `cannot be changed from ${former[member]}: declare another attribute`,
        })
  }
  return faults
}

/** The values of a user or client that do not fit the definitions. */
export function valueFaults(
  values: DeclaredValues | undefined,
  definitions: ReadonlyMap<string, AttributeDefinition>,
): Fault[] {
  if (values === undefined) return []
  return parseAttributes(definitions, values).faults.map(({ name, text: reason }) => ({
    path: `attributes.${name}`,
    text: definitions.has(name) ? reason : unknownAttribute(name, definitions),
  }))
}

function unknownAttribute(name: string, definitions: ReadonlyMap<string, AttributeDefinition>): string {
  const near = nearest(name, definitions.keys())
  return `unknown attribute "${name}"${near === undefined ? '; declare it first' : `; did you mean "${near}"?`}`
}

/** Lists in the order in which they are stored. The values have no faults. */
export function attributeValuesTarget(values: DeclaredValues): AttributeValues {
  return Object.fromEntries(
    Object.entries(values)
      .map(([name, given]) => [name, sortedValues(Array.isArray(given) ? given : [given])] as const)
      .filter(([, list]) => list.length > 0)
      .sort(([a], [b]) => (a < b ? -1 : 1)),
  )
}

function sortedValues(values: readonly AttributeValue[]): AttributeValue[] {
  return [...new Set(values)].sort((a, b) => (a < b ? -1 : 1))
}

function presentAttribute({ name, type, many, ...claim }: AttributeDefinition): JsonObject {
  return { name, type, many, ...declareClaim(claim) }
}

function declareClaim(members: Pick<AttributeDefinition, 'claim' | 'scope' | 'scim'>): JsonObject {
  const { claim, scope, scim } = members
  return Object.fromEntries(Object.entries({ claim, scope, scim }).filter(([, value]) => value !== undefined))
}
