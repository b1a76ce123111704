/** The migrations of alerts, and of the channels to which they are delivered. What alerts find is in the query database. */
import { additions } from './migration.ts'

export const channels = additions('channels', [
  `create table channels (name text not null, definition text not null, created_at bigint not null,
    updated_at bigint not null, constraint channels_key primary key (name))`,
])

/** Definitions of alerts. */
export const alerts = additions('alerts', [
  `create table alerts (id text not null, owner text not null, name text not null, version bigint not null,
    definition text not null, rights text not null, created_at bigint not null, updated_at bigint not null,
    constraint alerts_key primary key (id))`,
  'create unique index alerts_by_owner on alerts (owner, name)',
])

/** Browsers that get notices by push, and the key of this installation for push services. */
export const push = additions('push', [
  `create table push_subscriptions (id text not null, user_id text not null, endpoint text not null, p256dh text not null,
    auth text not null, label text not null, created_at bigint not null, constraint push_subscriptions_key primary key (id))`,
  'create unique index push_subscriptions_by_endpoint on push_subscriptions (endpoint)',
  'create index push_subscriptions_by_user on push_subscriptions (user_id)',
  `create table push_keys (id text not null, sealed text not null, created_at bigint not null,
    constraint push_keys_key primary key (id))`,
])
