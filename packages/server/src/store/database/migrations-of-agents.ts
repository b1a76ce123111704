/** The migration of agents. */
import { additions } from './migration.ts'

/** Which agents are allowed, which clients come from a document, which grants are of agents. */
export const agents = additions('agents', [
  `create table agents (allow text not null, definition text not null, created_at bigint not null,
    updated_at bigint not null, constraint agents_key primary key (allow))`,
  'alter table clients add column document integer default 0 not null',
  'alter table grants add column agent integer default 0 not null',
  'create index grants_of_agents on grants (created_at, id) where agent = 1',
])
