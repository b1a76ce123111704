/** `gatehouse attribute …`, and the option of users and clients that gives values. */
import type { Arguments, OptionTable } from '../args.ts'
import { UsageError } from '../errors.ts'
import { type JsonObject, membersOf } from '../output/json.ts'
import { change, create, list, remove, show } from './actions.ts'
import { type AdminCommand, type AdminRequest, withoutUndefined } from './admin-command.ts'

const ATTRIBUTES = '/admin/attributes'

const CLAIM: OptionTable = {
  '--claim': { value: 'NAME', help: 'the claim in tokens and at userinfo' },
  '--scope': { value: 'SCOPE', help: 'the scope that includes the claim' },
  '--scim-path': { value: 'PATH', help: 'the SCIM attribute that writes it, such as urn:…:User:department' },
}

export const ATTRIBUTE_COMMANDS: readonly AdminCommand[] = [
  {
    name: 'attribute list',
    summary: 'Lists the attributes that users and clients can have.',
    examples: ['attribute list', 'attribute list --json'],
    run: list(ATTRIBUTES, ['name', 'type', 'many', 'claim', 'scope', 'scim']),
  },
  {
    name: 'attribute show',
    positionals: ['ATTRIBUTE'],
    summary: 'Shows an attribute.',
    examples: ['attribute show desk'],
    run: show(ATTRIBUTES),
  },
  {
    name: 'attribute add',
    positionals: ['ATTRIBUTE'],
    options: {
      '--type': { value: 'TYPE', help: 'Text, Integer, Boolean or Date (default Text); it cannot be changed' },
      '--many': { help: 'users and clients can have several values; it cannot be changed' },
      ...CLAIM,
    },
    summary: 'Declares an attribute, which row filters use as :attribute.NAME.',
    examples: ['attribute add desk --many --claim desk --scope profile', 'attribute add level --type Integer'],
    run: create(ATTRIBUTES, (args) => ({
      name: args.positionals[0],
      type: args.value('--type') ?? 'Text',
      many: args.has('--many'),
      ...readClaim(args),
    })),
  },
  {
    name: 'attribute set',
    positionals: ['ATTRIBUTE'],
    options: {
      ...CLAIM,
      '--without': { value: 'MEMBER', repeatable: true, help: 'remove claim, scope or scim; repeatable' },
    },
    summary: 'Changes the claim, scope or SCIM path of an attribute.',
    examples: ['attribute set desk --scope roles', 'attribute set desk --without scope'],
    run: change(ATTRIBUTES, (args) => ({
      ...readClaim(args),
      ...Object.fromEntries(args.values('--without').map((member) => [member, null])),
    })),
  },
  {
    name: 'attribute remove',
    positionals: ['ATTRIBUTE'],
    summary: 'Removes an attribute and its values, unless row filters, clients, APIs or providers use it.',
    examples: ['attribute remove desk --yes'],
    confirm: ([attribute]) => `Remove the attribute ${attribute} with the values of all users?`,
    run: remove(ATTRIBUTES, (attribute) => `The attribute ${attribute} was removed.`),
  },
]

function readClaim(args: Arguments): JsonObject {
  return withoutUndefined({
    claim: args.value('--claim'),
    scope: args.value('--scope'),
    scim: args.value('--scim-path'),
  })
}

/** Of users and clients. */
export const VALUES: OptionTable = {
  '--attribute': {
    value: 'NAME=VALUE',
    repeatable: true,
    help: 'a value of an attribute, replacing all its earlier ones; repeatable. NAME= removes them',
  },
}

/** The member `attributes` of a user or client; nothing where no value is given. */
export async function readValues(args: Arguments, request: AdminRequest): Promise<JsonObject> {
  const given = args.values('--attribute').map(readValue)
  if (given.length === 0) return {}
  const { items } = membersOf((await request('GET', ATTRIBUTES)).body)
  const types = new Map((Array.isArray(items) ? items.map(membersOf) : []).map(({ name, type }) => [name, type]))
  const values = Map.groupBy(given, ({ name }) => name)
  const attributes = Array.from(values, ([name, all]) => {
    const texts = all.flatMap(({ text }) => (text === '' ? [] : [text]))
    return [name, texts.length === 0 ? null : texts.map((text) => ofType(types.get(name), text))]
  })
  return { attributes: Object.fromEntries(attributes) }
}

function readValue(given: string): { readonly name: string; readonly text: string } {
  const at = given.indexOf('=')
  if (at <= 0) throw new UsageError(`--attribute ${given}: write NAME=VALUE, such as desk=FX`)
  return { name: given.slice(0, at), text: given.slice(at + 1) }
}

/** What is no value of the type stays a text, which the server refuses. */
function ofType(type: unknown, text: string): unknown {
  if (type === 'Integer' && /^-?\d+$/.test(text)) return Number(text)
  if (type === 'Boolean' && (text === 'true' || text === 'false')) return text === 'true'
  return text
}
