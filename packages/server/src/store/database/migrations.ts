/**
 * All schema changes in order of application. A released one is never edited. Times are in milliseconds, flags are 0 or 1, lists and
 * objects are JSON.
 */

import { type Kysely, sql } from 'kysely'
import { additions, isSqlite, type Migration, statements } from './migration.ts'
import { agents } from './migrations-of-agents.ts'
import { alerts, channels, push } from './migrations-of-alerts.ts'
import { licences, licenceWarnings, placeNodes } from './migrations-of-licences.ts'
import { mail } from './migrations-of-mail.ts'
import { providers } from './migrations-of-providers.ts'
import type { Schema } from './schema.ts'
import { searchKeys } from './search-keys.ts'

const TABLES = statements('identity', [
  `create table users (id text not null, username text not null, username_key text not null, password_hash text,
    password_changed_at bigint not null, declared_digest text, profile text not null, disabled integer not null,
    created_at bigint not null, updated_at bigint not null, constraint users_key primary key (id))`,
  `create table roles (name text not null, scopes text not null, description text not null,
    require_second_factor integer not null, constraint roles_key primary key (name))`,
  'create table user_roles (user_id text not null, role text not null, constraint user_roles_key primary key (user_id, role))',
  `create table clients (client_id text not null, metadata text not null, disabled integer not null,
    created_at bigint not null, updated_at bigint not null, constraint clients_key primary key (client_id))`,
  `create table client_secrets (id text not null, client_id text not null, digest text not null, declared integer not null,
    created_at bigint not null, expires_at bigint, constraint client_secrets_key primary key (id))`,
  `create table grants (id text not null, kind text not null, client_id text not null, user_id text not null,
    session_id text, scopes text not null, details text not null, auth_time bigint not null, created_at bigint not null,
    expires_at bigint not null, revoked_at bigint, constraint grants_key primary key (id))`,
  `create table codes (digest text not null, grant_id text not null, details text not null, expires_at bigint not null,
    spent_at bigint, constraint codes_key primary key (digest))`,
  `create table refresh_tokens (digest text not null, grant_id text not null, parent_digest text, issued_at bigint not null,
    expires_at bigint not null, sealed text, constraint refresh_tokens_key primary key (digest))`,
  `create table device_codes (digest text not null, user_code text not null, client_id text not null, scopes text not null,
    state text not null, details text not null, poll_interval integer not null, polled_at bigint,
    created_at bigint not null, expires_at bigint not null, constraint device_codes_key primary key (digest))`,
  `create table sessions (id text not null, digest text not null, user_id text not null, auth_time bigint not null,
    amr text not null, browser_state text not null, user_agent text not null, address text not null,
    created_at bigint not null, seen_at bigint not null, expires_at bigint not null, ended_at bigint,
    constraint sessions_key primary key (id))`,
  `create table session_clients (session_id text not null, client_id text not null, created_at bigint not null,
    constraint session_clients_key primary key (session_id, client_id))`,
  `create table interactions (digest text not null, details text not null, created_at bigint not null,
    expires_at bigint not null, constraint interactions_key primary key (digest))`,
  `create table consents (user_id text not null, client_id text not null, scopes text not null, created_at bigint not null,
    updated_at bigint not null, constraint consents_key primary key (user_id, client_id))`,
  `create table factors (id text not null, user_id text not null, kind text not null, label text not null,
    secret text not null, counter bigint not null, created_at bigint not null, used_at bigint,
    constraint factors_key primary key (id))`,
  `create table throttles (key text not null, failures integer not null, until bigint not null,
    updated_at bigint not null, constraint throttles_key primary key (key))`,
  `create table signing_keys (kid text not null, public_jwk text not null, sealed_private_key text not null,
    created_at bigint not null, active_from bigint not null, retired_at bigint, removed_after bigint,
    constraint signing_keys_key primary key (kid))`,
  'create unique index users_by_username_key on users (username_key)',
  'create index user_roles_by_role on user_roles (role)',
  'create index client_secrets_by_client_id on client_secrets (client_id)',
  'create index grants_by_user_id on grants (user_id)',
  'create index grants_by_client_id on grants (client_id)',
  'create index grants_by_session_id on grants (session_id)',
  'create index grants_by_expires_at on grants (expires_at)',
  'create index codes_by_expires_at on codes (expires_at)',
  'create index refresh_tokens_by_grant_id on refresh_tokens (grant_id)',
  // A token has at most one successor: inserting it is the rotation.
  'create unique index refresh_tokens_by_parent_digest on refresh_tokens (parent_digest)',
  'create index refresh_tokens_by_expires_at on refresh_tokens (expires_at)',
  'create unique index device_codes_by_user_code on device_codes (user_code)',
  'create index device_codes_by_expires_at on device_codes (expires_at)',
  'create unique index sessions_by_digest on sessions (digest)',
  'create index sessions_by_user_id on sessions (user_id)',
  'create index sessions_by_expires_at on sessions (expires_at)',
  'create index interactions_by_expires_at on interactions (expires_at)',
  'create index factors_by_user_id on factors (user_id)',
])

const identity: Migration = {
  name: TABLES.name,
  async up(db) {
    await TABLES.up(db)
    // The database assigns the sequence numbers by which nodes catch up.
    const seq = isSqlite(db) ? sql`integer primary key autoincrement` : sql`bigserial primary key`
    await sql`create table events (seq ${seq}, kind text not null, body text not null, created_at bigint not null,
      expires_at bigint not null)`.execute(db)
    await sql`create index events_by_expires_at on events (expires_at)`.execute(db)
  },
}

/** Rows chained by hash, and the head to which the next row is chained. */
const audit = statements('audit', [
  `create table audit_log (seq bigint primary key, at bigint not null, event text not null, outcome text not null, actor text,
    client text, target text, address text, request_id text, node text not null, details text not null, hash text not null)`,
  'create index audit_log_by_at on audit_log (at)',
  'create index audit_log_by_event_seq on audit_log (event, seq)',
  'create index audit_log_by_actor_seq on audit_log (actor, seq)',
  'create table audit_head (id integer primary key, seq bigint not null, hash text not null)',
  `insert into audit_head (id, seq, hash) values (1, 0, '')`,
])

/** Rate-limit counts of busy callers per node, so that a limit applies to all nodes together. */
const rateCounts = statements('rate counts', [
  `create table rate_counts (key text not null, window_start bigint not null, node text not null, count bigint not null,
    expires_at bigint not null, constraint rate_counts_key primary key (key, window_start, node))`,
  'create index rate_counts_by_expires_at on rate_counts (expires_at)',
])

/** The running nodes, and their replies to calls that go to all of them. */
const nodes = statements('nodes', [
  'create table nodes (id text primary key, name text not null, seen_at bigint not null)',
  `create table node_answers (question text not null, node text not null, body text not null, expires_at bigint not null,
    constraint node_answers_key primary key (question, node))`,
  'create index node_answers_by_expires_at on node_answers (expires_at)',
])

const SEARCHED = ['name_key', 'family_key', 'email_key'] as const
const ROWS_AT_ONCE = 1000

/** Users are found by display name, family name and e-mail address too, folded and indexed. */
export const userSearch: Migration = {
  name: 'user search',
  async up(db) {
    // Prefixes are ranges of an index only where text is ordered by its bytes, as SQLite orders it.
    const type = isSqlite(db) ? sql`text` : sql`text collate "C"`
    for (const column of SEARCHED) await sql`alter table users add column ${sql.ref(column)} ${type}`.execute(db)
    if (!isSqlite(db)) await sql`alter table users alter column username_key type text collate "C"`.execute(db)
    await fillSearchKeys(db)
    for (const column of SEARCHED)
      await sql`create index ${sql.ref(`users_by_${column}`)} on users (${sql.ref(column)}, id)`.execute(db)
  },
}

async function fillSearchKeys(db: Kysely<Schema>): Promise<void> {
  for (let after = ''; ; ) {
    const some = db.selectFrom('users').select(['id', 'profile']).where('id', '>', after)
    const rows = await some.orderBy('id').limit(ROWS_AT_ONCE).execute()
    const values = rows.map(({ id, profile }) => {
      const keys = searchKeys(JSON.parse(profile))
      return sql`(${id}, ${keys.name_key}, ${keys.family_key}, ${keys.email_key})`
    })
    if (values.length > 0)
      await sql`with filled (id, name_key, family_key, email_key) as (values ${sql.join(values)})
        update users set name_key = filled.name_key, family_key = filled.family_key, email_key = filled.email_key
        from filled where users.id = filled.id`.execute(db)
    if (rows.length < ROWS_AT_ONCE) return
    after = rows.at(-1)?.id ?? ''
  }
}

/** The lists of who is signed in: open sessions and valid grants, of all users and of one user, newest first. */
const signedIn = statements('signed in', [
  'create index sessions_open on sessions (created_at, id) where ended_at is null',
  'create index sessions_by_user_id_created_at on sessions (user_id, created_at, id)',
  'drop index sessions_by_user_id',
  'create index grants_open on grants (created_at, id) where revoked_at is null',
  'create index grants_by_user_id_created_at on grants (user_id, created_at, id)',
  'drop index grants_by_user_id',
])

/** One-time links with which a person chooses a password, and users who must change theirs. */
const setUpLinks = statements('set-up links', [
  'alter table users add column must_change_password integer default 0 not null',
  `create table set_up_links (id text primary key, digest text not null, kind text not null, user_id text,
    created_by text not null, created_at bigint not null, expires_at bigint not null, used_at bigint, revoked_at bigint)`,
  'create unique index set_up_links_by_digest on set_up_links (digest)',
  'create index set_up_links_by_created_at on set_up_links (created_at, id)',
  'create index set_up_links_by_user_id on set_up_links (user_id, created_at, id)',
  'create index set_up_links_by_expires_at on set_up_links (expires_at)',
])

/** No statement finds refresh tokens by their grant, and each refresh wrote a page of that index. */
const unusedIndex = statements('unused index', ['drop index refresh_tokens_by_grant_id'])

/** The origin of interactions and device codes, so that their number can be limited by browser and by network. */
const openRows: Migration = {
  name: 'open rows',
  async up(db) {
    await sql`alter table interactions add column network text default '' not null`.execute(db)
    await sql`alter table device_codes add column network text default '' not null`.execute(db)
    await sql`alter table interactions add column browser text`.execute(db)
    const browser = isSqlite(db) ? sql`details ->> 'browser'` : sql`details::json ->> 'browser'`
    await sql`update interactions set browser = ${browser}`.execute(db)
    await sql`create index interactions_by_network on interactions (network, created_at, browser)`.execute(db)
    await sql`create index device_codes_by_network on device_codes (network, created_at)`.execute(db)
  },
}

/** Nodes with different issuers detect each other. Empty for nodes of an earlier version, which stop serving. */
const nodeIssuers = statements('node issuers', [
  `alter table nodes add column issuer text default '' not null`,
  'alter table nodes add column started_at bigint default 0 not null',
])

/** From here on the database says which migrations nodes of an earlier version can live with. */
const compatibleMigrations = statements('compatible migrations', [
  'alter table schema_version add column compatible integer default 0 not null',
])

/** The primaries of PostgreSQL, each from its start or promotion on (servers/history.ts). Numbers of 64 bits are texts. */
const databaseHistory = additions('database history', [
  `create table database_history (system_id text not null, incarnation text not null, timeline bigint not null,
    started_at text not null, next_xid text not null, recovered_to text, lost text, accepted_at bigint,
    recorded_at bigint not null, constraint database_history_key primary key (system_id, incarnation))`,
])

/** Remote controllers: programs that answer requests of streams over HTTP. */
const controllers = additions('controllers', [
  `create table controllers (name text not null, definition text not null, created_at bigint not null,
    updated_at bigint not null, constraint controllers_key primary key (name))`,
])

/** The definitions of feeds. */
const feeds = additions('feeds', [
  `create table feeds (name text not null, definition text not null, created_at bigint not null,
    updated_at bigint not null, constraint feeds_key primary key (name))`,
])

/**
 * Roles by who gave them, attributes of users, users who may sign in when other providers fail, and the schema that each node knows. Rows
 * of earlier nodes get the defaults: their roles are an operator's.
 */
const people = additions('people', [
  `alter table user_roles add column sources text default '["operator"]' not null`,
  `alter table users add column attributes text default '{}' not null`,
  'alter table users add column break_glass integer default 0 not null',
  'alter table nodes add column schema_version bigint default 0 not null',
])

/** Signing keys of other algorithms than RS256. Nodes of earlier versions would sign with them: none is made while one runs. */
const keyRings = additions('key rings', [`alter table signing_keys add column alg text default 'RS256' not null`])

/** The definitions of APIs and their scopes. */
const apis = additions('apis', [
  `create table apis (resource text not null, definition text not null, created_at bigint not null,
    updated_at bigint not null, constraint apis_key primary key (resource))`,
  `alter table device_codes add column audiences text default '' not null`,
])

/**
 * SCIM: the names that clients give to users and groups, the roles that are groups, provisioning tokens, and when each client was last
 * seen.
 */
const scim = additions('scim', [
  `create table scim_external_ids (client_id text not null, kind text not null, external_id text not null,
    resource_id text not null, constraint scim_external_ids_key primary key (client_id, kind, external_id))`,
  'create unique index scim_external_ids_by_resource on scim_external_ids (resource_id, client_id)',
  `create table scim_groups (role text not null, id text not null, display_name text not null, display_key text not null,
    made_by text, revision bigint not null, created_at bigint not null, updated_at bigint not null,
    constraint scim_groups_key primary key (role))`,
  'create unique index scim_groups_by_id on scim_groups (id)',
  'create index scim_groups_by_display_key on scim_groups (display_key)',
  `create table scim_tokens (id text not null, client_id text not null, digest text not null, created_at bigint not null,
    expires_at bigint not null, used_at bigint, constraint scim_tokens_key primary key (id))`,
  'create unique index scim_tokens_by_digest on scim_tokens (digest)',
  'create index scim_tokens_by_client_id on scim_tokens (client_id)',
  'create table scim_clients (client_id text not null, seen_at bigint not null, constraint scim_clients_key primary key (client_id))',
])

/** The definitions of attributes. */
const attributes = additions('attributes', [
  `create table attributes (name text not null, definition text not null, created_at bigint not null,
    updated_at bigint not null, constraint attributes_key primary key (name))`,
])

/** JWTs of others that may be used once (RFC 7523 §3), until they expire. */
const spentJwts = additions('spent-jwts', [
  `create table spent_jwts (digest text not null, expires_at bigint not null,
    constraint spent_jwts_key primary key (digest))`,
  'create index spent_jwts_expiry on spent_jwts (expires_at)',
])

/** Pushed authorization requests (RFC 9126), until they expire. */
const pushedRequests = additions('pushed requests', [
  `create table pushed_requests (digest text not null, client_id text not null, details text not null,
    created_at bigint not null, expires_at bigint not null, answered_at bigint,
    constraint pushed_requests_key primary key (digest))`,
  'create index pushed_requests_by_client_id on pushed_requests (client_id, expires_at)',
  'create index pushed_requests_by_expires_at on pushed_requests (expires_at)',
])

/** What is stored of a feed belongs to one declaration of its name, and is dropped with it. */
const feedGenerations = additions('feed generations', [
  "alter table feeds add column generation text default '' not null",
  `create table dropped_feeds (generation text not null, name text not null, created_at bigint not null,
    constraint dropped_feeds_key primary key (generation))`,
])

export const MIGRATIONS: readonly Migration[] = [
  identity,
  audit,
  rateCounts,
  nodes,
  userSearch,
  signedIn,
  setUpLinks,
  unusedIndex,
  openRows,
  nodeIssuers,
  compatibleMigrations,
  databaseHistory,
  controllers,
  feeds,
  people,
  keyRings,
  apis,
  mail,
  scim,
  attributes,
  spentJwts,
  providers,
  pushedRequests,
  feedGenerations,
  agents,
  licences,
  channels,
  alerts,
  placeNodes,
  licenceWarnings,
  push,
]
