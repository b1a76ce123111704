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
