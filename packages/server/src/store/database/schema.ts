/** The tables of the identity database. Times are in milliseconds, flags are 0 or 1, lists and objects are JSON. */
import type { Generated } from 'kysely'
import type { MailTables, ScimTables } from './schema-directory.ts'
import type { LicenceTables } from './schema-licences.ts'

export interface Schema extends MailTables, ScimTables, LicenceTables {
  schema_version: {
    version: number
    name: string
    applied_at: number
    compatible: Generated<number>
  }
  /** The primaries of PostgreSQL (servers/history.ts). */
  database_history: {
    system_id: string
    incarnation: string
    timeline: number
    started_at: string
    next_xid: string
    recovered_to: string | null
    lost: string | null
    accepted_at: number | null
    recorded_at: number
  }
  users: {
    id: string
    username: string
    username_key: string
    password_hash: string | null
    password_changed_at: number
    declared_digest: string | null
    profile: string
    /** What searches compare, see user-search.ts. */
    name_key: string | null
    family_key: string | null
    email_key: string | null
    disabled: number
    must_change_password: Generated<number>
    /** Values by the name of their attribute. */
    attributes: Generated<string>
    break_glass: Generated<number>
    created_at: number
    updated_at: number
  }
  roles: {
    name: string
    scopes: string
    description: string
    require_second_factor: number
  }
  user_roles: {
    user_id: string
    role: string
    /** Who gives the role: see RoleSource. */
    sources: Generated<string>
  }
  clients: {
    client_id: string
    metadata: string
    disabled: number
    created_at: number
    updated_at: number
    /** Whether it comes from the document at its id. */
    document: Generated<number>
  }
  /** Definitions of attributes (attributes/attributes.ts). */
  attributes: {
    name: string
    definition: string
    created_at: number
    updated_at: number
  }
  /** Remote controllers (controllers/controllers.ts). */
  controllers: {
    name: string
    definition: string
    created_at: number
    updated_at: number
  }
  /** Definitions of feeds (feeds/feeds.ts). */
  feeds: {
    name: string
    /** Empty for a declaration from before there were generations. */
    generation: string
    definition: string
    created_at: number
    updated_at: number
  }
  /** Feeds that are not declared any more, until their messages are dropped. */
  dropped_feeds: {
    generation: string
    name: string
    created_at: number
  }
  /** Definitions of alerts (alerts/alerts.ts). */
  alerts: {
    id: string
    owner: string
    name: string
    version: number
    definition: string
    rights: string
    created_at: number
    updated_at: number
  }
  /** Browsers that get notices by push (alerts/push-subscriptions.ts). */
  push_subscriptions: {
    id: string
    user_id: string
    endpoint: string
    p256dh: string
    auth: string
    label: string
    created_at: number
  }
  push_keys: {
    id: string
    /** Sealed. */
    sealed: string
    created_at: number
  }
  /** Definitions of channels (alerts/channels.ts). */
  channels: {
    name: string
    definition: string
    created_at: number
    updated_at: number
  }
  /** Other OpenID providers (providers/providers.ts). */
  providers: {
    id: string
    definition: string
    /** Sealed. */
    client_secret: string | null
    secret_digest: string | null
    /** Sealed. */
    private_key: string | null
    public_jwk: string | null
    created_at: number
    updated_at: number
  }
  /** Of users at other providers. */
  identities: {
    id: string
    provider: string
    issuer: string
    subject: string
    user_id: string
    label: string
    created_at: number
    used_at: number
  }
  /** Sign-ins that wait for the answer of a provider. */
  provider_states: {
    digest: string
    provider: string
    browser: string
    details: string
    created_at: number
    expires_at: number
  }
  session_origins: {
    session_id: string
    provider: string
    issuer: string
    subject: string
    sid: string | null
    logout: string | null
    created_at: number
  }
  /** Logout tokens of providers that were used. */
  provider_logouts: {
    digest: string
    expires_at: number
  }
  /** Which agents are allowed (agents/allowed-agents.ts). */
  agents: {
    allow: string
    definition: string
    created_at: number
    updated_at: number
  }
  /** Definitions of APIs (apis/apis.ts). */
  apis: {
    resource: string
    definition: string
    created_at: number
    updated_at: number
  }
  client_secrets: {
    id: string
    client_id: string
    digest: string
    declared: number
    created_at: number
    expires_at: number | null
  }
  grants: {
    id: string
    kind: string
    client_id: string
    user_id: string
    session_id: string | null
    scopes: string
    details: string
    auth_time: number
    created_at: number
    expires_at: number
    revoked_at: number | null
    /** Whether it is for agents alone. */
    agent: Generated<number>
  }
  codes: {
    digest: string
    grant_id: string
    details: string
    expires_at: number
    spent_at: number | null
  }
  refresh_tokens: {
    digest: string
    grant_id: string
    parent_digest: string | null
    issued_at: number
    expires_at: number
    /** This token, masked so that only the holder of its parent can read it. */
    sealed: string | null
  }
  device_codes: {
    digest: string
    user_code: string
    client_id: string
    scopes: string
    audiences: string
    state: string
    details: string
    poll_interval: number
    polled_at: number | null
    network: string
    created_at: number
    expires_at: number
  }
  sessions: {
    id: string
    digest: string
    user_id: string
    auth_time: number
    amr: string
    browser_state: string
    user_agent: string
    address: string
    created_at: number
    seen_at: number
    expires_at: number
    ended_at: number | null
    /** Tokens of the session expire by then, however often they are refreshed. */
    bounded_until: number | null
  }
  session_clients: {
    session_id: string
    client_id: string
    created_at: number
  }
  interactions: {
    digest: string
    /** Null until the first request with cookies: a cross-site POST has none. */
    browser: string | null
    network: string
    details: string
    created_at: number
    expires_at: number
  }
  consents: {
    user_id: string
    client_id: string
    scopes: string
    created_at: number
    updated_at: number
  }
  factors: {
    id: string
    user_id: string
    kind: string
    label: string
    secret: string
    counter: number
    created_at: number
    used_at: number | null
  }
  pushed_requests: {
    digest: string
    client_id: string
    details: string
    created_at: number
    expires_at: number
    answered_at: number | null
  }
  spent_jwts: {
    digest: string
    expires_at: number
  }
  throttles: {
    key: string
    failures: number
    until: number
    updated_at: number
  }
  signing_keys: {
    kid: string
    alg: Generated<string>
    public_jwk: string
    sealed_private_key: string
    created_at: number
    active_from: number
    retired_at: number | null
    removed_after: number | null
  }
  events: {
    seq: Generated<number>
    kind: string
    body: string
    created_at: number
    expires_at: number
  }
  audit_log: {
    seq: number
    at: number
    event: string
    outcome: string
    actor: string | null
    client: string | null
    target: string | null
    address: string | null
    request_id: string | null
    node: string
    details: string
    hash: string
  }
  /** One row: the last entry of the log, to which the next is chained. `seq` is also the number of rows ever written. */
  audit_head: {
    id: number
    seq: number
    hash: string
  }
  rate_counts: {
    key: string
    window_start: number
    node: string
    count: number
    expires_at: number
  }
  nodes: {
    id: string
    name: string
    seen_at: number
    issuer: string
    started_at: number
    schema_version: Generated<number>
  }
  node_answers: {
    question: string
    node: string
    body: string
    expires_at: number
  }
  set_up_links: {
    id: string
    digest: string
    kind: string
    user_id: string | null
    created_by: string
    created_at: number
    expires_at: number
    used_at: number | null
    revoked_at: number | null
    /** The address that it was mailed to; null where an operator passes it on. */
    mailed_to: Generated<string | null>
  }
}

export type AuditRow = Schema['audit_log']
