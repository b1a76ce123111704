/** The migrations of market-data licences. */
import { additions } from './migration.ts'

/**
 * Products, agreements and entitlements; what people have accepted and declared, and the trials that they have begun. The holder of an
 * entitlement is the id of a user or client, the name of a role, or an attribute with its value.
 */
export const licences = additions('licences', [
  `create table products (name text not null, definition text not null, created_at bigint not null,
    updated_at bigint not null, constraint products_key primary key (name))`,
  `create table agreements (id text not null, definition text not null, created_at bigint not null,
    updated_at bigint not null, constraint agreements_key primary key (id))`,
  `create table entitlements (id text not null, product text not null, level text not null, holder text not null,
    starts_at bigint, definition text not null, created_at bigint not null, updated_at bigint not null,
    constraint entitlements_key primary key (id))`,
  'create index entitlements_by_holder on entitlements (level, holder, product)',
  'create index entitlements_by_product on entitlements (product, id)',
  `create table acceptances (agreement text not null, holder text not null, version text not null, digest text not null,
    language text not null, address text, note text, accepted_at bigint not null,
    constraint acceptances_key primary key (holder, agreement, version))`,
  `create table licence_statuses (user_id text not null, professional integer not null, set_by text not null,
    updated_at bigint not null, constraint licence_statuses_key primary key (user_id))`,
  `create table trials (user_id text not null, product text not null, starts_at bigint not null, ends_at bigint not null,
    constraint trials_key primary key (user_id, product))`,
  `create table licence_places (product text not null, holder text not null, place text not null, session text not null,
    access text not null, displaced integer not null, taken_at bigint not null, expires_at bigint not null,
    constraint licence_places_key primary key (product, holder, place))`,
  'create index licence_places_by_expiry on licence_places (expires_at)',
])

/** Which processes hold a place: it is left with the last of them. Separated by spaces; empty for those of other programs. */
export const placeNodes = additions('place nodes', [
  "alter table licence_places add column nodes text not null default ''",
])

/** Who is told by mail that access ends, and of which end. */
export const licenceWarnings = additions('licence warnings', [
  'alter table entitlements add column ends_at bigint',
  'create index entitlements_by_end on entitlements (ends_at) where ends_at is not null',
  'create index trials_by_end on trials (ends_at)',
  `create table licence_warnings (user_id text not null, product text not null, ends_at bigint not null,
    constraint licence_warnings_key primary key (user_id, product, ends_at))`,
])
