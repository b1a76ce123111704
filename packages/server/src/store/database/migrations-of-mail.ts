/** The tables of mail. Released migrations are never edited. */
import { additions } from './migration.ts'

/**
 * Mails that wait for their delivery, links with which a person confirms an address, the address that a set-up link was mailed to, and the
 * browsers in which each user has signed in.
 */
export const mail = additions('mail', [
  `create table mail_queue (id text not null, kind text not null, state text not null, user_id text, recipient text, mailbox text,
    origin text, language text not null, sealed text, attempts integer not null, last_error text, created_at bigint not null,
    next_at bigint not null, tried_at bigint, expires_at bigint not null, leased_by text, leased_until bigint, ended_at bigint,
    constraint mail_queue_key primary key (id))`,
  'create index mail_queue_by_state on mail_queue (state, next_at)',
  'create index mail_queue_by_created_at on mail_queue (created_at, id)',
  'create index mail_queue_by_mailbox on mail_queue (mailbox, tried_at)',
  'create index mail_queue_by_origin on mail_queue (origin, created_at)',
  'create index mail_queue_by_tried_at on mail_queue (tried_at)',
  'create index mail_queue_by_ended_at on mail_queue (ended_at)',
  `create table address_links (id text not null, digest text not null, user_id text not null, address text not null, replaces text,
    created_at bigint not null, expires_at bigint not null, used_at bigint, revoked_at bigint,
    constraint address_links_key primary key (id))`,
  'create unique index address_links_by_digest on address_links (digest)',
  'create index address_links_by_user_id on address_links (user_id, created_at)',
  'create index address_links_by_expires_at on address_links (expires_at)',
  'alter table set_up_links add column mailed_to text',
  `create table known_browsers (user_id text not null, digest text not null, seen_at bigint not null,
    constraint known_browsers_key primary key (user_id, digest))`,
  'create index known_browsers_by_seen_at on known_browsers (seen_at)',
])
