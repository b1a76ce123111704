/** A group under change: its name, its externalId, and who becomes a member or stops being one (RFC 7644 §3.5.2). */
import { LONGEST_NAME, NAME } from 'gatehouse-protocol'
import type { AttributePath } from '../filter/ast.ts'
import { isObject, type JsonObject, matches } from '../filter/match.ts'
import { parsePath } from '../filter/parse.ts'
import type { PatchOperation } from '../patch-body.ts'
import { badRequest } from '../scim-error.ts'

export const GROUP_SCHEMA = 'urn:ietf:params:scim:schemas:core:2.0:Group'
const LONGEST_EXTERNAL_ID = 256

type Target = 'displayName' | 'externalId' | 'members' | 'read only'
const TARGETS: ReadonlyMap<string, Target> = new Map([
  ['displayname', 'displayName'],
  ['externalid', 'externalId'],
  ['members', 'members'],
  ['id', 'read only'],
  ['meta', 'read only'],
  ['schemas', 'read only'],
])

export function isGroupPath({ urn, name }: AttributePath): boolean {
  return (urn === undefined || urn === GROUP_SCHEMA.toLowerCase()) && TARGETS.has(name)
}

export class GroupDraft {
  displayName: string
  externalId: string | undefined
  /** Read from the database only if something depends on them. */
  readonly #membersBefore: () => Promise<readonly string[]>
  #members: Set<string> | undefined
  /** Changes that need no list of the members. */
  readonly added = new Set<string>()
  readonly removed = new Set<string>()

  constructor(
    before: { readonly displayName: string; readonly externalId: string | undefined },
    members: () => Promise<readonly string[]>,
  ) {
    this.displayName = before.displayName
    this.externalId = before.externalId
    this.#membersBefore = members
  }

  /** The body of a POST or PUT: what it lacks is removed, except the name. */
  async putMembers(body: JsonObject): Promise<void> {
    this.externalId = undefined
    await this.#replaceMembers([])
    for (const [name, value] of Object.entries(body)) await this.#member(name, 'replace', value)
  }

  async patch({ op, path, value }: PatchOperation): Promise<void> {
    if (path === undefined) {
      if (!isObject(value)) throw badRequest('invalidValue', 'Without a path, value must be an object')
      for (const [name, inner] of Object.entries(value)) await this.#member(name, op, inner)
      return
    }
    const parsed = parsePath(path)
    const target = findTarget(parsed, path)
    if (target === 'read only') throw badRequest('mutability', `${path} cannot be changed`)
    await this.#apply(target, parsed, op, value)
  }

  async #member(name: string, op: PatchOperation['op'], value: unknown): Promise<void> {
    const parsed = parsePath(name)
    const target = findTarget(parsed, name)
    // Okta sends the id with every change.
    if (target !== 'read only') await this.#apply(target, parsed, op, value)
  }

  async #apply(
    target: Exclude<Target, 'read only'>,
    path: AttributePath,
    op: PatchOperation['op'],
    value: unknown,
  ): Promise<void> {
    const isRemoval = op === 'remove' || value === null || value === undefined
    switch (target) {
      case 'displayName':
        if (isRemoval) throw badRequest('mutability', 'displayName is required')
        this.displayName = readName(value)
        break
      case 'externalId':
        this.externalId = isRemoval ? undefined : readExternalId(value)
        break
      case 'members':
        await this.#applyMembers(path, op, value)
        break
    }
  }

  async #applyMembers(path: AttributePath, op: PatchOperation['op'], value: unknown): Promise<void> {
    const { filter } = path
    if (path.sub !== undefined && path.sub !== 'value') return
    if (filter !== undefined) {
      if (op !== 'remove') throw badRequest('invalidPath', 'members with a filter can only be removed')
      const chosen = chosenMember(path)
      if (chosen !== undefined) this.#remove([chosen])
      else
        this.#remove((await this.#current()).filter((id) => matches(filter, { value: id, type: 'User' }, GROUP_SCHEMA)))
    } else if (op === 'add') this.#add(readMembers(value))
    else if (op === 'replace') await this.#replaceMembers(readMembers(value))
    // Entra ID lists those to be removed in value; without it all are.
    else if (value === undefined || value === null) await this.#replaceMembers([])
    else this.#remove(readMembers(value))
  }

  #add(ids: readonly string[]): void {
    for (const id of ids) {
      this.added.add(id)
      this.removed.delete(id)
    }
  }

  #remove(ids: readonly string[]): void {
    for (const id of ids) {
      this.removed.add(id)
      this.added.delete(id)
    }
  }

  async #replaceMembers(ids: readonly string[]): Promise<void> {
    this.#remove(await this.#current())
    this.#add(ids)
  }

  async #current(): Promise<readonly string[]> {
    this.#members ??= new Set(await this.#membersBefore())
    return [...this.#members.union(this.added).difference(this.removed)]
  }
}

/** `members[value eq "usr_…"]` needs no list of the members. */
export function chosenMember({ filter }: AttributePath): string | undefined {
  if (filter?.kind !== 'compare' || filter.path.name !== 'value' || filter.op !== 'eq') return undefined
  return typeof filter.value === 'string' ? filter.value : undefined
}

function findTarget(path: AttributePath, text: string): Target {
  const target = isGroupPath(path) ? TARGETS.get(path.name) : undefined
  if (target === undefined) throw badRequest('invalidPath', `There is no attribute ${text}`)
  return target
}

function readMembers(value: unknown): string[] {
  const items: readonly unknown[] = Array.isArray(value) ? value : value === undefined || value === null ? [] : [value]
  return items.map((item) => {
    const { value: id, type } = isObject(item) ? item : { value: item, type: undefined }
    if (typeof id !== 'string')
      throw badRequest('invalidValue', 'A member must be an object whose value is the id of a user')
    if (typeof type === 'string' && type.toLowerCase() === 'group')
      throw badRequest('invalidValue', 'Groups cannot be members of groups')
    return id
  })
}

function readName(value: unknown): string {
  if (typeof value !== 'string' || value.length > LONGEST_NAME || !NAME.test(value) || !value.isWellFormed())
    throw badRequest(
      'invalidValue',
      `displayName must be a string of at most ${LONGEST_NAME} characters, without control characters and spaces at its ends`,
    )
  return value
}

function readExternalId(value: unknown): string {
  const isText = typeof value === 'string' && value.length <= LONGEST_EXTERNAL_ID && value.isWellFormed()
  if (!isText || value === '' || /\p{Cc}/u.test(value))
    throw badRequest('invalidValue', `externalId must be a string of at most ${LONGEST_EXTERNAL_ID} characters`)
  return value
}
