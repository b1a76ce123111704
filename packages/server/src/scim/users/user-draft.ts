/** A user under change: applies the members of a body and the operations of a PATCH (RFC 7644 §3.3, §3.5). */
import type { AttributeValue, AttributeValues } from '../../accounts/scim-reads.ts'
import type { AttributePort, ScimAttribute } from '../attribute-port.ts'
import type { Filter } from '../filter/ast.ts'
import { isObject, type JsonObject, matches } from '../filter/match.ts'
import { parsePath } from '../filter/parse.ts'
import type { PatchOperation } from '../patch-body.ts'
import { badRequest } from '../scim-error.ts'
import { type TextField, USER_SCHEMA, type UserPaths, type UserTarget } from './user-paths.ts'
import { checkText, type UserState } from './user-state.ts'

type Verb = PatchOperation['op']

export class UserDraft {
  readonly #paths: UserPaths
  readonly #parse: AttributePort['parse']
  readonly #texts: Map<TextField, string>
  readonly #attributes: Map<string, readonly AttributeValue[]>
  #active: boolean

  constructor(before: UserState, paths: UserPaths, parse: AttributePort['parse']) {
    this.#paths = paths
    this.#parse = parse
    this.#texts = new Map(before.texts)
    this.#attributes = new Map(Object.entries(before.attributes))
    this.#active = before.active
  }

  get state(): UserState {
    const attributes: AttributeValues = Object.fromEntries(
      [...this.#attributes].filter(([, values]) => values.length > 0).sort(([a], [b]) => (a < b ? -1 : 1)),
    )
    return { texts: this.#texts, active: this.#active, attributes }
  }

  /** The body of a POST or PUT. What the client cannot write is ignored (RFC 7644 §3.3). */
  putMembers(body: JsonObject): void {
    for (const [name, value] of Object.entries(body)) this.#member(name, 'replace', value)
  }

  /** A PUT without these leaves them as they are: no member that is missing enables a user. */
  clear(attributes: readonly ScimAttribute[]): void {
    this.#texts.clear()
    for (const { name, scim } of attributes) if (scim !== undefined) this.#attributes.delete(name)
  }

  patch({ op, path, value }: PatchOperation): void {
    if (path === undefined) {
      if (!isObject(value)) throw badRequest('invalidValue', 'Without a path, value must be an object')
      for (const [name, inner] of Object.entries(value)) this.#member(name, op, inner)
      return
    }
    const target = this.#paths.require(parsePath(path), path)
    if (target.kind === 'read only') throw badRequest('mutability', `${path} cannot be changed`)
    const isRequired = target.kind === 'active' || (target.kind === 'text' && target.field === 'userName')
    if (op === 'remove' && isRequired) throw badRequest('mutability', `${path} is required`)
    this.#apply(target, op, value, path)
  }

  #member(name: string, op: Verb, value: unknown): void {
    const target = this.#paths.require(parsePath(name), name)
    if (target.kind !== 'read only') this.#apply(target, op, value, name)
  }

  #apply(target: UserTarget, op: Verb, value: unknown, path: string): void {
    const isRemoval = op === 'remove' || value === null || value === undefined
    switch (target.kind) {
      case 'text':
        this.#setText(target.field, isRemoval ? undefined : readText(value, path))
        break
      case 'active':
        // A user always has it, and no absent value enables anybody.
        if (!isRemoval) this.#active = readBoolean(value, path)
        break
      case 'emails':
        this.#applyEmail(target, isRemoval ? 'remove' : op, value, path)
        break
      case 'attribute':
        this.#applyAttribute(target.attribute, isRemoval ? 'remove' : op, value, path)
        break
      case 'parts':
        if (isRemoval) for (const part of target.targets) this.#apply(part, 'remove', undefined, path)
        else this.#applyParts(target.prefix, op, value)
        break
      case 'ignored':
      case 'read only':
        break
    }
  }

  /** Entra ID sends a manager as a text, or as a list with one object; some clients repeat the schema inside of an extension. */
  #applyParts(prefix: string, op: Verb, value: unknown): void {
    const [parts = {}] = Array.isArray(value) ? value : [value]
    for (const [name, inner] of Object.entries(isObject(parts) ? parts : { value: parts }))
      if (name.toLowerCase() !== 'schemas') this.#member(prefix + name, op, inner)
  }

  #setText(field: TextField, text: string | undefined): void {
    if (text === undefined || text === '') {
      if (field === 'userName') throw badRequest('invalidValue', 'userName is required')
      this.#texts.delete(field)
    } else this.#texts.set(field, checkText(field, text))
  }

  /** One address is stored, that of the type work. It is made where it is absent; addresses of other types are ignored. */
  #applyEmail({ filter, sub }: Extract<UserTarget, { kind: 'emails' }>, op: Verb, value: unknown, path: string): void {
    if (sub !== undefined && sub !== 'value') return
    if (filter !== undefined && !this.#isEmail(filter)) {
      if (namesType(filter)) return
      throw badRequest('noTarget', `No e-mail address meets ${path}`)
    }
    if (op === 'remove') this.#setText('email', undefined)
    else if (sub === 'value' || typeof value === 'string') this.#setText('email', readText(value, path))
    else {
      const email = chooseEmail(value, path)
      if (email !== undefined || (op === 'replace' && filter === undefined)) this.#setText('email', email)
    }
  }

  #isEmail(filter: Filter): boolean {
    return matches(filter, { value: this.#texts.get('email') ?? '', type: 'work', primary: true }, USER_SCHEMA)
  }

  #applyAttribute(attribute: ScimAttribute, op: Verb, value: unknown, path: string): void {
    const { name, many } = attribute
    const before = this.#attributes.get(name) ?? []
    if (op === 'remove' && (value === undefined || value === null || !many)) {
      this.#attributes.delete(name)
      return
    }
    const given = this.#parseValues(attribute, value, path)
    if (op === 'remove')
      this.#attributes.set(
        name,
        before.filter((one) => !given.includes(one)),
      )
    else if (op === 'add' && many) this.#attributes.set(name, this.#parseValues(attribute, [...before, ...given], path))
    else this.#attributes.set(name, given)
  }

  #parseValues(attribute: ScimAttribute, value: unknown, path: string): readonly AttributeValue[] {
    const items = (Array.isArray(value) ? value : [value]).map((item) => plainValue(item, attribute.type))
    const parsed = this.#parse(
      attribute,
      items.filter((item) => item !== '' && item !== null),
    )
    if ('fault' in parsed) throw badRequest('invalidValue', `${path} ${parsed.fault}`)
    return parsed.values
  }
}

/** Of several addresses the one of the type work, else the primary one, else one without a type. */
function chooseEmail(value: unknown, path: string): string | undefined {
  const items: readonly unknown[] = Array.isArray(value) ? value : [value]
  const emails = items.map((item) => {
    if (!isObject(item)) throw badRequest('invalidValue', `${path} must be a list of objects with a value`)
    return new Map(Object.entries(item).map(([name, member]) => [name.toLowerCase(), member]))
  })
  const emailType = (email: ReadonlyMap<string, unknown>) => String(email.get('type') ?? '').toLowerCase()
  const chosen =
    emails.find((email) => emailType(email) === 'work') ??
    emails.find((email) => isTrue(email.get('primary'))) ??
    emails.find((email) => emailType(email) === '')
  const address = chosen?.get('value')
  return address === undefined || address === null ? undefined : readText(address, `${path}.value`)
}

function namesType(filter: Filter): boolean {
  switch (filter.kind) {
    case 'and':
    case 'or':
      return filter.parts.some(namesType)
    case 'not':
      return namesType(filter.part)
    default:
      return filter.path.name === 'type'
  }
}

/** A value of a multi-valued attribute may be an object; Entra ID sends numbers and booleans as texts. */
function plainValue(item: unknown, type: ScimAttribute['type']): unknown {
  const value = isObject(item) ? item.value : item
  if (typeof value !== 'string') return value
  if (type === 'Integer' && /^-?\d{1,16}$/.test(value)) return Number(value)
  if (type === 'Boolean' && /^(true|false)$/i.test(value)) return isTrue(value)
  return value
}

function readText(value: unknown, path: string): string {
  if (typeof value !== 'string') throw badRequest('invalidValue', `${path} must be a string`)
  return value
}

/** Entra ID sends "True" and "False". */
function readBoolean(value: unknown, path: string): boolean {
  if (typeof value === 'boolean') return value
  if (typeof value === 'string' && /^(true|false)$/i.test(value)) return isTrue(value)
  throw badRequest('invalidValue', `${path} must be true or false`)
}

function isTrue(value: unknown): boolean {
  return value === true || (typeof value === 'string' && value.toLowerCase() === 'true')
}
