/** The definitions of other providers through which people sign in. Their secrets and private keys are sealed. */
import type { Clock } from 'gatehouse-protocol'
import type { Kysely, Selectable } from 'kysely'
import type { Schema } from '../database/schema.ts'

/** A provider as it is declared: of one kind, with what a sign-in there means here. */
export type Provider<Kind extends ProviderKind = ProviderKind> = {
  [Each in Kind]: { readonly kind: Each } & ProviderKinds[Each] & ProviderMeaning
}[Kind]

/** How people prove who they are. For a new kind, the compiler names the tables that lack it. */
export interface ProviderKinds {
  readonly openid: OpenIdSettings
}

export type ProviderKind = keyof ProviderKinds

/** Another OpenID provider. */
export interface OpenIdSettings {
  /** Compared with `iss` by character. With `{tenantid}`: a template of Entra, for `tenants`. */
  readonly issuer: string
  readonly clientId: string
  /** How we authenticate at its token endpoint. */
  readonly authMethod: 'client_secret' | 'private_key_jwt'
  /** The `aud` of our assertions; its issuer where undefined. */
  readonly assertionAudience: string | undefined
  readonly scopes: readonly string[]
  /** Values of `amr` and `acr` that count as two factors. */
  readonly trustMfa: { readonly amr: readonly string[]; readonly acr: readonly string[] }
  /** Allows private and loopback addresses, and http to them. */
  readonly private: boolean
  /** The tenants of Entra whose users may sign in. */
  readonly tenants: readonly string[]
}

/** What a sign-in means, of whatever kind the provider is. */
export interface ProviderMeaning {
  readonly id: string
  /** On buttons and pages. */
  readonly name: string
  /** People who enter a name of one of these e-mail domains are sent there. */
  readonly domains: readonly string[]
  /** One of the values of every claim, at every sign-in. */
  readonly require: Readonly<Record<string, readonly string[]>>
  readonly provision: 'never' | 'invited' | 'create'
  /** Names users that it creates. */
  readonly usernameClaim: string
  /** An unknown identity belongs to the user whose `externalId` this SCIM client has set to the value of the claim. */
  readonly link: { readonly claim: string; readonly scim: string } | undefined
  readonly rules: readonly ProviderRule[]
  /** Whether `email_verified` is believed. */
  readonly trustEmail: boolean
  /** Whether it vouches for its users to agents (ID-JAG). */
  readonly agents: boolean
  /** Milliseconds that sessions and refresh tokens of a sign-in live at most. */
  readonly lifetime: number | undefined
  /** Whether a sign-out here continues with a sign-out there. */
  readonly logout: boolean
  readonly disabled: boolean
}

/** The claim is a name or a JSON Pointer (RFC 6901). */
export type ProviderRule =
  | { readonly claim: string; readonly value: string; readonly role: string }
  /** The values of the claim become those of the attribute. */
  | { readonly claim: string; readonly attribute: string }

/** What is sealed: see provider-secrets.ts. */
export interface ProviderSecrets {
  readonly clientSecret: string | undefined
  /** Detects that a declarative file names another secret. */
  readonly secretDigest: string | undefined
  readonly privateKey: string | undefined
  readonly publicJwk: Readonly<Record<string, unknown>> | undefined
}

export type StoredProvider<Kind extends ProviderKind = ProviderKind> = Provider<Kind> & {
  readonly sealed: ProviderSecrets
}
export type Providers = ReturnType<typeof createProviders>

const NO_SECRETS: ProviderSecrets = {
  clientSecret: undefined,
  secretDigest: undefined,
  privateKey: undefined,
  publicJwk: undefined,
}

/** A caller that changes a definition also publishes `providers-changed`, in the same transaction. */
export function createProviders(db: Kysely<Schema>, clock: Clock) {
  const rows = () => db.selectFrom('providers').selectAll()
  return {
    /** Ordered by id. */
    async list({ after, limit }: { after?: string; limit?: number } = {}): Promise<StoredProvider[]> {
      let query = rows().orderBy('id')
      if (after !== undefined) query = query.where('id', '>', after)
      if (limit !== undefined) query = query.limit(limit)
      return (await query.execute()).map(readRow)
    },

    async find(id: string): Promise<StoredProvider | undefined> {
      const row = await rows().where('id', '=', id).executeTakeFirst()
      return row && readRow(row)
    },

    async count(): Promise<number> {
      const row = await db
        .selectFrom('providers')
        .select((eb) => eb.fn.countAll<number>().as('count'))
        .executeTakeFirst()
      return Number(row?.count ?? 0)
    },

    /** Secrets that are absent stay as they are. */
    async put({ id, ...rest }: Provider, secrets: Partial<ProviderSecrets> = {}): Promise<void> {
      const now = clock()
      const definition = JSON.stringify(rest)
      const sealed = { ...NO_SECRETS, ...(await this.find(id))?.sealed, ...secrets }
      const row = {
        definition,
        client_secret: sealed.clientSecret ?? null,
        secret_digest: sealed.secretDigest ?? null,
        private_key: sealed.privateKey ?? null,
        public_jwk: sealed.publicJwk === undefined ? null : JSON.stringify(sealed.publicJwk),
        updated_at: now,
      }
      await db
        .insertInto('providers')
        .values({ id, ...row, created_at: now })
        .onConflict((conflict) => conflict.column('id').doUpdateSet(row))
        .execute()
    },

    /** With the identities that people have there. */
    async remove(id: string): Promise<void> {
      await db.deleteFrom('providers').where('id', '=', id).execute()
      await db.deleteFrom('identities').where('provider', '=', id).execute()
      await db.deleteFrom('provider_states').where('provider', '=', id).execute()
    },
  }
}

/** JSON has no undefined members. A definition of an earlier release has no kind. */
function readRow(row: Selectable<Schema['providers']>): StoredProvider {
  const { sealed: _, ...definition }: Omit<Provider, 'id'> & { sealed?: unknown } = {
    kind: 'openid',
    assertionAudience: undefined,
    link: undefined,
    lifetime: undefined,
    ...JSON.parse(row.definition),
  }
  return {
    ...definition,
    id: row.id,
    sealed: {
      clientSecret: row.client_secret ?? undefined,
      secretDigest: row.secret_digest ?? undefined,
      privateKey: row.private_key ?? undefined,
      publicJwk: row.public_jwk === null ? undefined : JSON.parse(row.public_jwk),
    },
  }
}
