/** An attribute as a file or a request declares it, and the values of users and clients: their schemas, checks and what follows from them. */
import { isReservedClaim, nearest } from 'gatehouse-protocol'
import type { XStatic } from 'typebox/schema'
import { closed, either, flag, number, oneOf, text } from '../schema/builders.ts'
import type { Fault } from '../schema/check-schema.ts'
import type { AttributeValue, AttributeValues } from '../store/accounts/user.ts'
import type { KnownScopes } from '../store/apis/known-scopes.ts'
import { parseAttributes } from '../store/attributes/attribute-values.ts'
import {
  ATTRIBUTE_TYPES,
  type AttributeDefinition,
  MOST_ATTRIBUTES,
  MOST_VALUES,
} from '../store/attributes/attributes.ts'

export type DeclaredAttribute = XStatic<typeof ATTRIBUTE>
export type DeclaredValues = XStatic<typeof ATTRIBUTE_VALUES>

export const ATTRIBUTE_NAME = /^[a-z][a-z0-9_]{0,62}$/
/** A name, or a URI of one's own as RFC 7519 §4.2 advises. */
export const CLAIM_NAME = /^[A-Za-z][A-Za-z0-9_.:/~-]*$/
/** RFC 7644 §3.10: an attribute or one of its parts, after the URN of its schema unless that is the core schema. */
export const SCIM_PATH = /^(?:urn:[A-Za-z0-9][A-Za-z0-9.:_-]*:)?[A-Za-z][A-Za-z0-9_$-]*(?:\.[A-Za-z][A-Za-z0-9_$-]*)?$/

export const ATTRIBUTE = closed(['name', 'type'], {
  name: text({ pattern: ATTRIBUTE_NAME.source, description: 'In row filters: :attribute.name.' }),
  type: oneOf(ATTRIBUTE_TYPES, 'Of the values. It cannot be changed.'),
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

/** The messages of the patterns. */
export const ATTRIBUTE_PATTERNS = [
  [
    ATTRIBUTE_NAME.source,
    'must consist of up to 63 lower-case letters, digits and underscores, and begin with a letter',
  ],
  [CLAIM_NAME.source, 'must begin with a letter, and consist of letters, digits and the characters _ . : / ~ -'],
  [SCIM_PATH.source, 'must be the path of a SCIM attribute, such as department or urn:…:User:department'],
] as const

/** What one definition alone cannot have. `known` are the scopes that it may name. */
export function attributeFaults({ claim, scope, scim }: DeclaredAttribute, known: KnownScopes): Fault[] {
  const faults: Fault[] = []
  const fault = (path: string, reason: string) => faults.push({ path, text: reason })
  if (claim !== undefined && isReservedClaim(claim)) fault('claim', `"${claim}" has a meaning already: choose another`)
  if (scope !== undefined && claim === undefined) fault('scope', 'needs a claim')
  // offline_access asks for a refresh token and nothing else.
  const scopes = known.scopes().filter((name) => name !== 'offline_access')
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

/**
 * What the attributes `after` a change cannot be together. `before` are those in the database: their types stay. `pathOf` gives the path of
 * an attribute in the file.
 */
export function attributesFaults(
  after: readonly AttributeDefinition[],
  before: ReadonlyMap<string, AttributeDefinition>,
  pathOf: (name: string) => string,
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
        faults.push({ path: `${pathOf(attribute.name)}${member}`, text: `is that of the attribute ${holder} already` })
    }
  }
  for (const attribute of after) {
    const former = before.get(attribute.name)
    if (former === undefined) continue
    for (const member of ['type', 'many'] as const)
      if (former[member] !== attribute[member])
        faults.push({
          path: `${pathOf(attribute.name)}${member}`,
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

export function attributeTarget({ name, type, many, claim, scope, scim }: DeclaredAttribute): AttributeDefinition {
  return { name, type, many: many ?? false, claim, scope, scim }
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

/** Every member that has a value, by its declared name. */
export function presentAttribute(attribute: AttributeDefinition): Readonly<Record<string, unknown>> {
  const { name, type, many, claim, scope, scim } = attribute
  return { name, type, many, ...declaredOf({ claim, scope, scim }) }
}

/** The same without defaults, as in a file. */
export function declaredAttribute(attribute: AttributeDefinition): Readonly<Record<string, unknown>> {
  const { name, type, many, claim, scope, scim } = attribute
  return { name, type, ...(many && { many }), ...declaredOf({ claim, scope, scim }) }
}

function declaredOf(members: Readonly<Record<string, string | undefined>>): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(members).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  )
}
