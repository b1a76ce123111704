/** The migration of channels, to which alerts are delivered. The alerts themselves are in the query database. */
import { additions } from './migration.ts'

export const channels = additions('channels', [
  `create table channels (name text not null, definition text not null, created_at bigint not null,
    updated_at bigint not null, constraint channels_key primary key (name))`,
])
