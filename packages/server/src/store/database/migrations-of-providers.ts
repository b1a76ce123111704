/** The migration of other OpenID providers. */
import { additions } from './migration.ts'

/** Other OpenID providers: definitions, identities of users there, sign-ins under way, and where sessions came from. */
export const providers = additions('providers', [
  `create table providers (id text not null, definition text not null, client_secret text, secret_digest text,
    private_key text, public_jwk text, created_at bigint not null, updated_at bigint not null,
    constraint providers_key primary key (id))`,
  `create table identities (id text not null, provider text not null, issuer text not null, subject text not null,
    user_id text not null, label text not null, created_at bigint not null, used_at bigint not null,
    constraint identities_key primary key (id))`,
  'create unique index identities_subject on identities (issuer, subject)',
  'create index identities_user on identities (user_id)',
  `create table provider_states (digest text not null, provider text not null, browser text not null,
    details text not null, created_at bigint not null, expires_at bigint not null,
    constraint provider_states_key primary key (digest))`,
  'create index provider_states_browser on provider_states (browser, created_at)',
  'create index provider_states_expiry on provider_states (expires_at)',
  `create table session_origins (session_id text not null, provider text not null, issuer text not null,
    subject text not null, sid text, logout text, created_at bigint not null,
    constraint session_origins_key primary key (session_id))`,
  'create index session_origins_subject on session_origins (issuer, subject)',
  'create index session_origins_sid on session_origins (issuer, sid)',
  `create table provider_logouts (digest text not null, expires_at bigint not null,
    constraint provider_logouts_key primary key (digest))`,
  'create index provider_logouts_expiry on provider_logouts (expires_at)',
  'alter table sessions add column bounded_until bigint',
])
