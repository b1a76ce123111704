/** Registered clients and their secrets. Two secrets may be valid at once, for rotation. */
import { hash } from 'node:crypto'
import type { Clock } from 'gatehouse-protocol'
import type { Kysely, Selectable } from 'kysely'
import { USER_ID_PREFIX } from '../accounts/user.ts'
import type { Schema } from '../database/schema.ts'
import { newId } from '../keys/opaque.ts'
import { type Client, type ClientMetadata, type ClientSecret, toClient } from './client-metadata.ts'

export type Clients = ReturnType<typeof createClients>

export class BadClientId extends Error {
  override name = 'BadClientId'
}

interface ClientPage {
  readonly after: string
  readonly limit: number
  readonly registered?: boolean
}

/** Clients that one page of a search reads. */
const MOST_SEARCHED = 1000

export function createClients(db: Kysely<Schema>, clock: Clock) {
  return { ...readClients(db), ...changeClients(db, clock), ...changeSecrets(db, clock) }
}

function readClients(db: Kysely<Schema>) {
  return {
    async find(clientId: string): Promise<Client | undefined> {
      const metadata = await readMetadata(clientId)
      return metadata === undefined ? undefined : toClient(metadata, await loadSecrets(clientId))
    },

    async list(): Promise<Client[]> {
      const rows = await db.selectFrom('clients').selectAll().orderBy('client_id').execute()
      const secrets = Map.groupBy(
        await db.selectFrom('client_secrets').selectAll().orderBy('created_at').execute(),
        (row) => row.client_id,
      )
      return rows.map((row) => toClient(parseMetadata(row), (secrets.get(row.client_id) ?? []).map(toSecret)))
    },

    /** The ids of one page, in order: of all, or of those that somebody has registered. */
    async listIds({ after, limit, registered = false }: ClientPage): Promise<string[]> {
      const all = db.selectFrom('clients').select('client_id').where('client_id', '>', after)
      const page = registered ? all.where('document', '=', 0) : all
      return (await page.orderBy('client_id').limit(limit).execute()).map(({ client_id }) => client_id)
    },

    /** The ids of those whose id or name contains the text. A page reads a bounded number of clients; `next` is where it ended. */
    async search(text: string, { after, limit }: { after: string; limit: number }) {
      const page = db.selectFrom('clients').selectAll().where('client_id', '>', after)
      const rows = await page.orderBy('client_id').limit(MOST_SEARCHED).execute()
      const found = rows.filter((row) => clientMatches(parseMetadata(row), text)).map(({ client_id }) => client_id)
      const ids = found.slice(0, limit)
      const end = rows.length === MOST_SEARCHED ? rows.at(-1)?.client_id : undefined
      return { ids, next: found.length > limit ? ids.at(-1) : end }
    },

    /** The ids of those that come from a document. */
    async listDocuments(): Promise<string[]> {
      const rows = await db.selectFrom('clients').select('client_id').where('document', '=', 1).execute()
      return rows.map(({ client_id }) => client_id)
    },

    /** As registered, to show or change it. */
    metadata: readMetadata,
  }

  async function readMetadata(clientId: string): Promise<ClientMetadata | undefined> {
    const row = await db.selectFrom('clients').selectAll().where('client_id', '=', clientId).executeTakeFirst()
    return row === undefined ? undefined : parseMetadata(row)
  }

  async function loadSecrets(clientId: string): Promise<ClientSecret[]> {
    const rows = await db
      .selectFrom('client_secrets')
      .selectAll()
      .where('client_id', '=', clientId)
      .orderBy('created_at')
      .execute()
    return rows.map(toSecret)
  }
}

function changeClients(db: Kysely<Schema>, clock: Clock) {
  return {
    async put(metadata: ClientMetadata): Promise<void> {
      if (metadata.client_id.startsWith(USER_ID_PREFIX)) {
        throw new BadClientId(`A client_id must not begin with ${USER_ID_PREFIX}, the prefix of user ids`)
      }
      const { disabled = false, document = false, ...rest } = metadata
      const flags = { disabled: Number(disabled), document: Number(document) }
      const values = { metadata: JSON.stringify(rest), ...flags, updated_at: clock() }
      await db
        .insertInto('clients')
        .values({ client_id: metadata.client_id, created_at: clock(), ...values })
        .onConflict((conflict) => conflict.column('client_id').doUpdateSet(values))
        .execute()
    },

    async remove(clientId: string): Promise<void> {
      await db.deleteFrom('client_secrets').where('client_id', '=', clientId).execute()
      // A client registered later under the same id must not inherit what was allowed to this one, or asked for by it.
      for (const table of [
        'consents',
        'device_codes',
        'pushed_requests',
        'scim_external_ids',
        'scim_tokens',
        'scim_clients',
      ] as const)
        await db.deleteFrom(table).where('client_id', '=', clientId).execute()
      await db.deleteFrom('acceptances').where('holder', '=', clientId).execute()
      await db.deleteFrom('entitlements').where('level', '=', 'client').where('holder', '=', clientId).execute()
      await db.deleteFrom('clients').where('client_id', '=', clientId).execute()
    },
  }
}

function changeSecrets(db: Kysely<Schema>, clock: Clock) {
  return {
    async addSecret(
      clientId: string,
      secret: string,
      { declared = false, expiresAt }: { declared?: boolean; expiresAt?: number | undefined } = {},
    ): Promise<string> {
      const id = newId()
      await db
        .insertInto('client_secrets')
        .values({
          id,
          client_id: clientId,
          digest: secretDigest(clientId, secret),
          declared: Number(declared),
          created_at: clock(),
          expires_at: expiresAt ?? null,
        })
        .execute()
      return id
    },

    async removeSecret(clientId: string, secretId: string): Promise<void> {
      await db.deleteFrom('client_secrets').where('client_id', '=', clientId).where('id', '=', secretId).execute()
    },

    /** Makes the other secrets expire at `at`. */
    async expireOtherSecrets(clientId: string, keptId: string, at: number): Promise<void> {
      await db
        .updateTable('client_secrets')
        .set({ expires_at: at })
        .where('client_id', '=', clientId)
        .where('id', '!=', keptId)
        .where((eb) => eb.or([eb('expires_at', 'is', null), eb('expires_at', '>', at)]))
        .execute()
    },
  }
}

/** The client id is the salt: equal secrets of two clients have different digests. */
export function secretDigest(clientId: string, secret: string): string {
  return hash('sha256', `${clientId}\0${secret}`, 'base64url')
}

/** Case-insensitive. */
export function clientMatches({ client_id: id, client_name: name = '' }: ClientMetadata, text: string): boolean {
  const folded = text.trim().toLowerCase()
  return id.toLowerCase().includes(folded) || name.toLowerCase().includes(folded)
}

function parseMetadata(row: Pick<Selectable<Schema['clients']>, 'client_id' | 'metadata' | 'disabled' | 'document'>) {
  const metadata: ClientMetadata = JSON.parse(row.metadata)
  const isDocument = row.document === 1
  return { ...metadata, client_id: row.client_id, disabled: row.disabled === 1, ...(isDocument && { document: true }) }
}

function toSecret(row: Schema['client_secrets']): ClientSecret {
  return {
    id: row.id,
    digest: row.digest,
    declared: row.declared === 1,
    createdAt: row.created_at,
    expiresAt: row.expires_at ?? undefined,
  }
}
