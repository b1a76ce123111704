/** What the paths of a user name: fields that are stored, attributes of operators, and the rest of RFC 7643, which is ignored. */
import type { ScimAttribute } from '../attribute-port.ts'
import type { AttributePath, Filter } from '../filter/ast.ts'
import { parsePath } from '../filter/parse.ts'
import { badRequest } from '../scim-error.ts'

export const USER_SCHEMA = 'urn:ietf:params:scim:schemas:core:2.0:User'
export const ENTERPRISE_SCHEMA = 'urn:ietf:params:scim:schemas:extension:enterprise:2.0:User'

export type TextField =
  | 'userName'
  | 'externalId'
  | 'displayName'
  | 'givenName'
  | 'familyName'
  | 'middleName'
  | 'locale'
  | 'timezone'
  | 'email'

export type UserTarget =
  | { readonly kind: 'text'; readonly field: Exclude<TextField, 'email'> }
  | { readonly kind: 'active' }
  | { readonly kind: 'emails'; readonly filter: Filter | undefined; readonly sub: string | undefined }
  | { readonly kind: 'attribute'; readonly attribute: ScimAttribute }
  /** An attribute with parts, or a schema: the path of a part is the prefix and its name. */
  | { readonly kind: 'parts'; readonly prefix: string; readonly targets: readonly UserTarget[] }
  | { readonly kind: 'read only' }
  | { readonly kind: 'ignored' }

const TEXTS: ReadonlyMap<string, Exclude<TextField, 'email'>> = new Map([
  ['username', 'userName'],
  ['externalid', 'externalId'],
  ['displayname', 'displayName'],
  ['locale', 'locale'],
  ['timezone', 'timezone'],
  ['name.givenname', 'givenName'],
  ['name.familyname', 'familyName'],
  ['name.middlename', 'middleName'],
])
const READ_ONLY: ReadonlySet<string> = new Set(['id', 'meta', 'groups', 'schemas'])
const NAME_PARTS = ['formatted', 'honorificprefix', 'honorificsuffix']
const EMAIL_PARTS = ['value', 'type', 'primary', 'display']
/** Accepted, and not stored. */
const IGNORED: ReadonlySet<string> = new Set([
  ...['nickname', 'profileurl', 'title', 'usertype', 'preferredlanguage', 'password', 'phonenumbers', 'ims', 'photos'],
  ...['addresses', 'entitlements', 'roles', 'x509certificates'],
])
const IGNORED_ENTERPRISE: ReadonlySet<string> = new Set([
  ...['employeenumber', 'costcenter', 'organization', 'division', 'department', 'manager'],
])

export class UserPaths {
  /** By path in lower case, without the URN of the core schema. */
  readonly #attributes: ReadonlyMap<string, ScimAttribute>
  readonly #schemas: ReadonlySet<string>

  constructor(attributes: readonly ScimAttribute[]) {
    const shown = attributes.flatMap((attribute) =>
      attribute.scim === undefined ? [] : [{ path: attributePath(attribute.scim), attribute }],
    )
    this.#attributes = new Map(shown.map(({ path, attribute }) => [pathKey(path), attribute]))
    this.#schemas = new Set([ENTERPRISE_SCHEMA.toLowerCase(), ...shown.flatMap(({ path }) => path.urn ?? [])])
  }

  /** Undefined for a path that neither RFC 7643 nor an operator defines. */
  find(path: AttributePath): UserTarget | undefined {
    const place = withoutCore(path)
    const own = this.#attributes.get(pathKey(place))
    if (own !== undefined) return { kind: 'attribute', attribute: own }
    const { urn, name, sub, filter } = place
    if (urn !== undefined) return this.#findExtended(place)
    if (name === 'emails' && (sub === undefined || EMAIL_PARTS.includes(sub))) return { kind: 'emails', filter, sub }
    const parts = this.#attributesBelow(place)
    if (name === 'name' && sub === undefined) return { kind: 'parts', prefix: 'name.', targets: [...NAME, ...parts] }
    if (filter !== undefined) return IGNORED.has(name) ? { kind: 'ignored' } : undefined
    const field = TEXTS.get(sub === undefined ? name : `${name}.${sub}`)
    if (field !== undefined) return { kind: 'text', field }
    if (name === 'active' && sub === undefined) return { kind: 'active' }
    if (READ_ONLY.has(name)) return { kind: 'read only' }
    if (sub === undefined && parts.length > 0) return { kind: 'parts', prefix: `${name}.`, targets: parts }
    if (name === 'name' && NAME_PARTS.includes(sub ?? '')) return { kind: 'ignored' }
    // Some clients write the attributes of the enterprise schema without its URN.
    return IGNORED.has(name) || IGNORED_ENTERPRISE.has(name) ? { kind: 'ignored' } : undefined
  }

  require(path: AttributePath, text: string): UserTarget {
    const found = this.find(path)
    if (found === undefined) throw badRequest('invalidPath', `There is no attribute ${text}`)
    return found
  }

  #findExtended(path: AttributePath): UserTarget | undefined {
    const { urn, name, sub } = path
    const schema = `${urn}:${name}`
    if (sub === undefined && this.#schemas.has(schema)) {
      const all = [...this.#attributes].filter(([key]) => key.startsWith(`${schema}:`))
      const targets = all.map(([, attribute]) => ({ kind: 'attribute', attribute }) as const)
      return { kind: 'parts', prefix: `${schema}:`, targets }
    }
    const parts = this.#attributesBelow(path)
    if (sub === undefined && parts.length > 0) return { kind: 'parts', prefix: `${urn}:${name}.`, targets: parts }
    const isIgnored = urn === ENTERPRISE_SCHEMA.toLowerCase() && IGNORED_ENTERPRISE.has(name)
    return isIgnored ? { kind: 'ignored' } : undefined
  }

  /** The attributes whose paths are parts of this one. */
  #attributesBelow({ urn, name }: AttributePath): UserTarget[] {
    const prefix = `${pathKey({ urn, name, filter: undefined, sub: undefined })}.`
    return [...this.#attributes].flatMap(([key, attribute]) =>
      key.startsWith(prefix) ? [{ kind: 'attribute', attribute } as const] : [],
    )
  }
}

const NAME: readonly UserTarget[] = [
  { kind: 'text', field: 'givenName' },
  { kind: 'text', field: 'familyName' },
  { kind: 'text', field: 'middleName' },
]

/** Where a path of an operator's attribute leads. */
export function attributePath(scim: string): AttributePath {
  return withoutCore(parsePath(scim))
}

function withoutCore(path: AttributePath): AttributePath {
  return path.urn === USER_SCHEMA.toLowerCase() ? { ...path, urn: undefined } : path
}

function pathKey({ urn, name, sub }: AttributePath): string {
  return `${urn === undefined ? '' : `${urn}:`}${name}${sub === undefined ? '' : `.${sub}`}`
}
