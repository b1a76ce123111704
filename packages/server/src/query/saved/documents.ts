/** Saved queries and boards: who may read and change them, their versions and their limits. */

import { randomBytes } from 'node:crypto'
import type { Audit, Clock, Principal } from 'gatehouse-protocol'
import type { Json } from '../../lib/exact-json.ts'
import { parseJson } from '../../lib/exact-json.ts'
import type { Fault } from '../../schema/check-schema.ts'
import { ADMIN_SCOPE } from '../catalogue/system-tables.ts'
import type { DocumentPlace, DocumentRow, DocumentRows, ListedDocument } from '../engines/document-rows.ts'
import { refuse } from '../errors.ts'
import {
  type DocumentChange,
  faultsOfChange,
  faultsOfNew,
  KINDS,
  type Kind,
  MAX_BODY_BYTES,
  type NewDocument,
  type Shared,
} from './document-schema.ts'

/** Users and clients, who own documents by the subject of their tokens. */
export interface Owners {
  /** The names of the users and clients that exist, by subject. */
  names(subjects: readonly string[]): Promise<ReadonlyMap<string, string>>
}

export interface DocumentsEnv {
  readonly rows: DocumentRows
  readonly owners: Owners
  readonly clock: Clock
  readonly audit: Audit
  /** How many documents an owner may have. */
  readonly perOwner: number
}

/** Who calls, from where, under which request id. */
export interface DocumentCaller {
  readonly principal: Principal
  readonly address: string
  readonly requestId: string
}

export interface DocumentQuery {
  readonly kind: Kind | undefined
  readonly prefix: string
  /** Only documents of this owner. */
  readonly owner: string | undefined
  readonly after: DocumentPlace
  readonly limit: number
}

/** A document as it is sent; lists omit the body. */
export interface PresentedDocument {
  readonly id: string
  readonly kind: string
  readonly name: string
  readonly owner: string
  /** Null if the owner no longer exists. */
  readonly username: string | null
  readonly shared: Shared
  readonly version: number
  readonly updated: string
  readonly body?: unknown
}

export class Documents {
  readonly #env: DocumentsEnv

  constructor(env: DocumentsEnv) {
    this.#env = env
  }

  /** Own and shared documents by name, and the place after the last one if there may be more. */
  async list(
    { principal }: DocumentCaller,
    { owner, ...page }: DocumentQuery,
  ): Promise<{ readonly items: readonly PresentedDocument[]; readonly next: DocumentPlace | undefined }> {
    if (owner !== undefined && owner !== principal.subject && !isAdmin(principal))
      throw refuse('Auth.MissingScope', 'Only administrators can list the documents of another owner', {
        members: { Scope: ADMIN_SCOPE },
      })
    const readers = owner === undefined ? callerReaders(principal) : [ownerReader(owner)]
    const found = await this.#env.rows.list({ ...page, readers, prefix: sortName(page.prefix) })
    const names = await this.#env.owners.names([...new Set(found.map((row) => row.owner))])
    const last = found.length === page.limit ? found.at(-1) : undefined
    return { items: found.map((row) => present(row, names)), next: last }
  }

  async get({ principal }: DocumentCaller, id: string): Promise<PresentedDocument> {
    return this.#shown(await this.#readable(principal, id))
  }

  async create(caller: DocumentCaller, value: Json): Promise<PresentedDocument> {
    const { principal } = caller
    refuseFaults(faultsOfNew(value))
    const document = value as unknown as NewDocument
    const row = this.#newRow(randomBytes(12).toString('base64url'), principal.subject, document)
    checkRoles(readShared(row.shared), principal, [])
    const { rows, perOwner } = this.#env
    if (!(await rows.insert(row, readersOfRow(row), perOwner)))
      throw refuse('Saved.TooMany', `You have ${perOwner} saved documents, which is the limit`)
    if (row.shared !== 'private') this.#recordShared(caller, row)
    return this.#shown(row)
  }

  /** `version` is the one that the caller has read; undefined matches any. */
  async change(
    caller: DocumentCaller,
    id: string,
    version: number | undefined,
    value: Json,
  ): Promise<PresentedDocument> {
    const { principal } = caller
    for (;;) {
      const before = await this.#changeable(principal, id, version)
      refuseFaults(faultsOfChange(value, readKind(before)))
      const change = value as unknown as DocumentChange
      if (change.shared !== undefined) checkRoles(change.shared, principal, sharedRoles(before))
      if (change.owner !== undefined) await this.#checkOwner(principal, change.owner)
      const after = {
        ...before,
        ...(change.name === undefined ? {} : sortedName(change.name)),
        owner: change.owner ?? before.owner,
        shared: change.shared === undefined ? before.shared : sharedText(change.shared),
        version: before.version + 1,
        updated: this.#env.clock(),
        body: change.body === undefined ? before.body : bodyText(change.body),
      }
      // A change without effect keeps the version.
      if (CHANGEABLE.every((member) => after[member] === before[member])) return this.#shown(before)
      if (await this.#env.rows.update(after, readersOfRow(after), before.version)) {
        if (after.shared !== before.shared) this.#recordShared(caller, after)
        if (before.owner !== principal.subject) this.#recordByAdmin(caller, 'saved.changed', after, Object.keys(change))
        return this.#shown(after)
      }
      // Somebody else was faster: with a version the next round refuses, without one it changes what they left.
    }
  }

  async remove(caller: DocumentCaller, id: string, version: number | undefined): Promise<void> {
    for (;;) {
      const row = await this.#changeable(caller.principal, id, version)
      if (!(await this.#env.rows.remove(id, row.version))) continue
      if (row.owner !== caller.principal.subject) this.#recordByAdmin(caller, 'saved.deleted', row, [])
      return
    }
  }

  /** For the demonstration: creates a document with this id, unless there is one. */
  async createIfAbsent(id: string, owner: string, document: NewDocument): Promise<boolean> {
    const row = this.#newRow(id, owner, document)
    return this.#env.rows.insert(row, readersOfRow(row), this.#env.perOwner)
  }

  /** Removes the private documents of owners that no longer exist, which no one else can read. Returns how many. */
  async removeOrphans(): Promise<number> {
    const { rows, owners } = this.#env
    let removed = 0
    for (let after = ''; ; ) {
      const readers = await rows.readersAfter(after, OWNER_PREFIX, ORPHANS_AT_ONCE)
      const subjects = readers.map((reader) => reader.slice(OWNER_PREFIX.length))
      const names = await owners.names(subjects)
      const gone = subjects.filter((subject) => !names.has(subject))
      if (gone.length > 0) removed += await rows.removeReadable(gone.map(ownerReader), 'private')
      const last = readers.at(-1)
      if (last === undefined || readers.length < ORPHANS_AT_ONCE) return removed
      after = last
    }
  }

  #newRow(id: string, owner: string, { kind, name, shared = 'private', body }: NewDocument): DocumentRow {
    return {
      id,
      kind,
      ...sortedName(name),
      owner,
      shared: sharedText(shared),
      version: 1,
      updated: this.#env.clock(),
      body: bodyText(body),
    }
  }

  /** What the caller is not allowed to read does not exist for the caller. */
  async #readable(principal: Principal, id: string): Promise<DocumentRow> {
    const row = await this.#env.rows.find(id)
    const own = new Set(callerReaders(principal))
    if (row === undefined || !(isAdmin(principal) || readersOfRow(row).some((reader) => own.has(reader))))
      throw refuse('Saved.NotFound', `There is no saved document ${JSON.stringify(id)}`)
    return row
  }

  async #changeable(principal: Principal, id: string, version: number | undefined): Promise<DocumentRow> {
    const row = await this.#readable(principal, id)
    if (row.owner !== principal.subject && !isAdmin(principal))
      throw refuse('Saved.NotOwner', 'The document belongs to another user')
    if (version !== undefined && version !== row.version)
      throw refuse('Saved.Changed', `The document was changed in the meantime: it has version ${row.version}`, {
        headers: { etag: versionEtag(row.version) },
      })
    return row
  }

  async #checkOwner(principal: Principal, owner: string): Promise<void> {
    if (!isAdmin(principal)) refuseFaults([{ path: 'owner', text: `can be changed with ${ADMIN_SCOPE} only` }])
    const names = await this.#env.owners.names([owner])
    if (!names.has(owner)) refuseFaults([{ path: 'owner', text: 'must be the id of a user or a client' }])
  }

  async #shown(row: DocumentRow): Promise<PresentedDocument> {
    const body = parseJson(row.body)
    return { ...present(row, await this.#env.owners.names([row.owner])), body }
  }

  #recordShared(caller: DocumentCaller, { id, kind, shared }: DocumentRow): void {
    this.#env.audit.record({ event: 'saved.shared', ...auditActor(caller), target: id, details: { kind, shared } })
  }

  #recordByAdmin(
    caller: DocumentCaller,
    event: 'saved.changed' | 'saved.deleted',
    { id, kind, owner }: DocumentRow,
    changed: readonly string[],
  ): void {
    this.#env.audit.record({ event, ...auditActor(caller), target: id, details: { kind, owner, changed } })
  }
}

export function versionEtag(version: number): string {
  return `"${version}"`
}

/** A name as it is ordered and searched: case-insensitive. */
function sortName(name: string): string {
  return name.normalize('NFKC').toLowerCase()
}

function sortedName(name: string): Pick<DocumentRow, 'name' | 'sortname'> {
  return { name, sortname: sortName(name) }
}

const CHANGEABLE = ['name', 'owner', 'shared', 'body'] as const
const OWNER_PREFIX = 'owner:'
const ORPHANS_AT_ONCE = 500

function ownerReader(subject: string): string {
  return OWNER_PREFIX + subject
}

function callerReaders({ subject, roles }: Principal): string[] {
  return [ownerReader(subject), 'everyone', ...roles.map((role) => `role:${role}`)]
}

/** The owner is the first. */
function readersOfRow(row: Pick<DocumentRow, 'owner' | 'shared'>): string[] {
  const shared = row.shared === 'everyone' ? ['everyone'] : sharedRoles(row).map((role) => `role:${role}`)
  return [ownerReader(row.owner), ...shared]
}

function sharedRoles({ shared }: Pick<DocumentRow, 'shared'>): readonly string[] {
  const read = readShared(shared)
  return typeof read === 'string' ? [] : read
}

function sharedText(shared: Shared): string {
  return typeof shared === 'string' ? shared : JSON.stringify([...new Set(shared)].sort())
}

function readShared(text: string): Shared {
  return text === 'private' || text === 'everyone' ? text : (JSON.parse(text) as readonly string[])
}

/** Owners share with their own roles. Administrators share with any. */
function checkRoles(shared: Shared, principal: Principal, already: readonly string[]): void {
  if (typeof shared === 'string' || isAdmin(principal)) return
  const allowed = new Set([...principal.roles, ...already])
  const others = shared.filter((role) => !allowed.has(role))
  refuseFaults(others.map((role) => ({ path: 'shared', text: `${JSON.stringify(role)} is not one of your roles` })))
}

function bodyText(body: object): string {
  const text = JSON.stringify(body)
  const bytes = Buffer.byteLength(text)
  if (bytes > MAX_BODY_BYTES)
    throw refuse('Request.TooLarge', `The body of a document has at most ${MAX_BODY_BYTES} bytes, not ${bytes}`)
  return text
}

function refuseFaults(faults: readonly Fault[]): void {
  const [first] = faults
  if (first === undefined) return
  const detail = `${first.path === '' ? '' : `${first.path}: `}${first.text}`
  throw refuse('Saved.Invalid', detail, { members: { Faults: faults.slice(0, MOST_FAULTS) } })
}

const MOST_FAULTS = 100

function present(row: ListedDocument, names: ReadonlyMap<string, string>): PresentedDocument {
  const { id, kind, name, owner, shared, version, updated } = row
  return {
    id,
    kind,
    name,
    owner,
    username: names.get(owner) ?? null,
    shared: readShared(shared),
    version,
    updated: new Date(updated).toISOString(),
  }
}

function readKind({ kind }: DocumentRow): Kind {
  const known = KINDS.find((candidate) => candidate === kind)
  if (known === undefined) throw new Error(`A saved document has the unknown kind ${kind}`)
  return known
}

function isAdmin({ scopes }: Principal): boolean {
  return scopes.has(ADMIN_SCOPE)
}

function auditActor({ principal, address, requestId }: DocumentCaller) {
  return { actor: principal.subject, client: principal.clientId, address, requestId }
}
