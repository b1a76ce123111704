/** The queue of mails: rows that are written with their cause, and leased to one node while it sends them. */
import type { Clock } from 'gatehouse-protocol'
import { type Kysely, type Selectable, sql } from 'kysely'
import type { Database } from '../database/database.ts'
import type { Schema } from '../database/schema.ts'
import { transact } from '../database/transaction.ts'
import { isMailKind, type MailKind } from './kinds.ts'

/** `failed`: the server refused it, or it could not be delivered in time. `dropped`: it was not to be sent. */
export const MAIL_STATES = ['waiting', 'sent', 'failed', 'dropped', 'removed'] as const
export type MailState = (typeof MAIL_STATES)[number]
export type EndState = Exclude<MailState, 'waiting'>

export interface QueuedMail {
  readonly id: string
  readonly kind: MailKind
  readonly state: MailState
  readonly userId: string | undefined
  readonly recipient: string | undefined
  readonly language: string
  /** Undefined once it has ended. */
  readonly sealed: string | undefined
  readonly attempts: number
  readonly lastError: string | undefined
  readonly createdAt: number
  readonly nextAt: number
  readonly triedAt: number | undefined
  readonly expiresAt: number
  readonly endedAt: number | undefined
}

export interface NewMail {
  readonly id: string
  readonly kind: MailKind
  readonly userId?: string | undefined
  readonly recipient?: string | undefined
  /** The network that asked for it. */
  readonly origin?: string | undefined
  readonly language: string
  readonly sealed: string
  readonly expiresAt: number
}

export interface MailPage {
  readonly limit: number
  readonly state?: MailState | undefined
  readonly after?: { readonly createdAt: number; readonly id: string } | undefined
}

/** What an attempt needs, written before it is made. */
export interface Attempt {
  readonly userId: string | undefined
  readonly recipient: string
  readonly mailbox: string
  readonly sealed: string
}

export type MailQueue = ReturnType<typeof createMailQueue>

const LEASE_MS = 2 * 60_000
/** Advisory lock of PostgreSQL: counting and what depends on the counts is done one at a time, on all nodes. */
const MAIL_LOCK = 7_203_519_014

export function createMailQueue(database: Pick<Database, 'db' | 'engine'>, clock: Clock) {
  return { ...queueMails(database, clock), ...leaseMails(database, clock), ...listMails(database, clock) }
}

function queueMails({ db, engine }: Pick<Database, 'db' | 'engine'>, clock: Clock) {
  return {
    /** Call it in the transaction that causes the mail. */
    async add(mail: NewMail): Promise<void> {
      await db.insertInto('mail_queue').values(newRow(mail, clock())).execute()
    },

    /** False if there is one with this id. */
    async addOnce(mail: NewMail): Promise<boolean> {
      const row = await db
        .insertInto('mail_queue')
        .values(newRow(mail, clock()))
        .onConflict((conflict) => conflict.column('id').doNothing())
        .returning('id')
        .executeTakeFirst()
      return row !== undefined
    },

    /** When mails of a kind to a recipient were queued since a time, the newest first. */
    async queuedSince(kind: MailKind, recipient: string, since: number): Promise<number[]> {
      const rows = await db
        .selectFrom('mail_queue')
        .select('created_at')
        .where('created_at', '>', since)
        .where('kind', '=', kind)
        .where('recipient', '=', recipient)
        .orderBy('created_at', 'desc')
        .execute()
      return rows.map(({ created_at: at }) => Number(at))
    },

    /** In a transaction, before counting. On SQLite a transaction is the only writer anyway. */
    async lock(): Promise<void> {
      if (engine === 'postgres') await sql`select pg_advisory_xact_lock(${sql.lit(MAIL_LOCK)})`.execute(db)
    },

    /** Mails that a network has asked for since a time, or all networks together. */
    async countAsked(since: number, origin?: string): Promise<number> {
      let query = db.selectFrom('mail_queue').where('created_at', '>', since)
      query = origin === undefined ? query.where('origin', 'is not', null) : query.where('origin', '=', origin)
      return readCount(await query.select((eb) => eb.fn.countAll().as('count')).executeTakeFirst())
    },

    /** Mails that were last tried after a time, to one mailbox or in all; the given one is not counted. */
    async countTried(since: number, { mailbox, except = '' }: { mailbox?: string; except?: string } = {}) {
      let query = db.selectFrom('mail_queue').where('tried_at', '>', since).where('id', '<>', except)
      if (mailbox !== undefined) query = query.where('mailbox', '=', mailbox)
      return readCount(await query.select((eb) => eb.fn.countAll().as('count')).executeTakeFirst())
    },
  }
}

function newRow(mail: NewMail, now: number) {
  return {
    id: mail.id,
    kind: mail.kind,
    state: 'waiting',
    user_id: mail.userId ?? null,
    recipient: mail.recipient ?? null,
    mailbox: null,
    origin: mail.origin ?? null,
    language: mail.language,
    sealed: mail.sealed,
    attempts: 0,
    last_error: null,
    created_at: now,
    next_at: now,
    tried_at: null,
    expires_at: mail.expiresAt,
    leased_by: null,
    leased_until: null,
    ended_at: null,
  }
}

function leaseMails({ db, engine }: Pick<Database, 'db' | 'engine'>, clock: Clock) {
  const leased = (id: string, node: string) =>
    db.updateTable('mail_queue').where('id', '=', id).where('leased_by', '=', node).where('state', '=', 'waiting')
  const due = (from: Kysely<Schema>, now: number) =>
    from
      .selectFrom('mail_queue')
      .where('state', '=', 'waiting')
      .where('next_at', '<=', now)
      .where((eb) => eb.or([eb('leased_until', 'is', null), eb('leased_until', '<=', now)]))
  return {
    /** Leases mails that are due. What anybody can ask for comes after the others. */
    async claim(node: string, most: number): Promise<QueuedMail[]> {
      const now = clock()
      // Mostly there is none, and nothing is written.
      if ((await due(db, now).select('id').limit(1).executeTakeFirst()) === undefined) return []
      return transact(db, async (tx) => {
        if (engine === 'postgres') await sql`select pg_advisory_xact_lock(${sql.lit(MAIL_LOCK)})`.execute(tx)
        const found = await due(tx, now)
          .select('id')
          .orderBy(sql`case when kind = 'forgot-password' then 1 else 0 end`)
          .orderBy('next_at')
          .limit(most)
          .execute()
        if (found.length === 0) return []
        const ids = found.map(({ id }) => id)
        const rows = await tx
          .updateTable('mail_queue')
          .set({ leased_by: node, leased_until: now + LEASE_MS })
          .where('id', 'in', ids)
          .returningAll()
          .execute()
        return rows.map(toMail)
      })
    },

    /** False if another node has it. */
    async renew(id: string, node: string): Promise<boolean> {
      const row = await leased(id, node)
        .set({ leased_until: clock() + LEASE_MS })
        .returning('id')
        .executeTakeFirst()
      return row !== undefined
    },

    /** Just before an attempt. False if another node has it, or it was removed. */
    async begin(id: string, node: string, attempt: Attempt): Promise<boolean> {
      const now = clock()
      const row = await leased(id, node)
        .set((eb) => ({
          user_id: attempt.userId ?? null,
          recipient: attempt.recipient,
          mailbox: attempt.mailbox,
          sealed: attempt.sealed,
          tried_at: now,
          attempts: eb('attempts', '+', 1),
          leased_until: now + LEASE_MS,
        }))
        .returning('id')
        .executeTakeFirst()
      return row !== undefined
    },

    /** It waits until `nextAt`, for any node. */
    async postpone(id: string, node: string, nextAt: number, error?: string): Promise<void> {
      await leased(id, node)
        .set({
          leased_by: null,
          leased_until: null,
          next_at: nextAt,
          ...(error === undefined ? {} : { last_error: error }),
        })
        .execute()
    },

    async end(id: string, node: string, state: EndState, error?: string): Promise<void> {
      await leased(id, node)
        .set(ended(state, clock(), error))
        .execute()
    },
  }
}

function listMails({ db }: Pick<Database, 'db'>, clock: Clock) {
  return {
    async find(id: string): Promise<QueuedMail | undefined> {
      const row = await db.selectFrom('mail_queue').selectAll().where('id', '=', id).executeTakeFirst()
      return row && toMail(row)
    },

    /** One page, newest first. */
    async page({ limit, state, after }: MailPage): Promise<QueuedMail[]> {
      let query = db.selectFrom('mail_queue').selectAll()
      if (state !== undefined) query = query.where('state', '=', state)
      if (after !== undefined)
        query = query.where((eb) => eb(eb.refTuple('created_at', 'id'), '<', eb.tuple(after.createdAt, after.id)))
      const rows = await query.orderBy('created_at', 'desc').orderBy('id', 'desc').limit(limit).execute()
      return rows.map(toMail)
    },

    /** How many wait, and since when the oldest does. */
    async waiting(): Promise<{ readonly count: number; readonly since: number | undefined }> {
      const row = await db
        .selectFrom('mail_queue')
        .where('state', '=', 'waiting')
        .select((eb) => [eb.fn.countAll().as('count'), eb.fn.min('created_at').as('since')])
        .executeTakeFirst()
      return { count: readCount(row), since: row?.since == null ? undefined : Number(row.since) }
    },

    /** Makes a waiting mail due. False if it does not wait, or is being sent. */
    async hurry(id: string): Promise<boolean> {
      return (await idle(id).set({ next_at: clock() }).returning('id').executeTakeFirst()) !== undefined
    },

    /** False if it does not wait, or is being sent. */
    async remove(id: string): Promise<boolean> {
      return (await idle(id).set(ended('removed', clock())).returning('id').executeTakeFirst()) !== undefined
    },
  }

  function idle(id: string) {
    return db
      .updateTable('mail_queue')
      .where('id', '=', id)
      .where('state', '=', 'waiting')
      .where((eb) => eb.or([eb('leased_until', 'is', null), eb('leased_until', '<=', clock())]))
  }
}

/** The link is forgotten with it. */
function ended(state: EndState, now: number, error?: string) {
  return { state, sealed: null, leased_by: null, leased_until: null, ended_at: now, last_error: error ?? null }
}

function readCount(row: { readonly count: string | number | bigint } | undefined): number {
  return Number(row?.count ?? 0)
}

function toMail(row: Selectable<Schema['mail_queue']>): QueuedMail {
  const state = MAIL_STATES.find((known) => known === row.state)
  if (!isMailKind(row.kind) || state === undefined)
    throw new Error(`A mail has the unknown kind ${row.kind} or state ${row.state}`)
  return {
    id: row.id,
    kind: row.kind,
    state,
    userId: row.user_id ?? undefined,
    recipient: row.recipient ?? undefined,
    language: row.language,
    sealed: row.sealed ?? undefined,
    attempts: row.attempts,
    lastError: row.last_error ?? undefined,
    createdAt: row.created_at,
    nextAt: row.next_at,
    triedAt: row.tried_at ?? undefined,
    expiresAt: row.expires_at,
    endedAt: row.ended_at ?? undefined,
  }
}
