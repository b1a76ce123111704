/** Sends what is queued: claims mails that are due, and ends or postpones each according to what the mail server says. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { AuditEvent } from 'gatehouse-protocol'
import { pauseAfter } from '../lib/retry.ts'
import { newId } from '../store/keys/opaque.ts'
import type { EndState, MailQueue, QueuedMail } from '../store/mail/mail-queue.ts'
import type { MailStores } from '../store/mail/notify.ts'
import { type ComposeEnv, compose } from './compose.ts'
import { type IssueLink, type PrepareEnv, prepare } from './prepare.ts'
import { NotSent, type Transport } from './transport.ts'

export type Outcome = 'sent' | 'postponed' | 'refused' | 'expired' | 'dropped' | 'throttled'

export interface DeliveryEnv extends PrepareEnv {
  readonly queue: Pick<MailQueue, 'claim' | 'renew' | 'postpone' | 'end'>
  readonly transact: <T>(work: (stores: MailStores, issueLink: IssueLink) => Promise<T>) => Promise<T>
  readonly composing: ComposeEnv
  readonly transport: Pick<Transport, 'send'>
  readonly audit: { record(event: AuditEvent): void }
  readonly onOutcome: (mail: QueuedMail, outcome: Outcome, reason?: string) => void
  readonly onError: (error: unknown) => void
}

const POLL_MS = 500
const AT_ONCE = 5
const RENEW_MS = 30_000
const PACE_MS = 2_000
/** A mail server may take minutes for its reply; a node that stops does not wait for it, and the mail is tried again. */
const CLOSE_MS = 4_000
const MINUTE = 60_000
/** After each failure; then hourly. */
const RETRIES = [MINUTE, 5 * MINUTE, 15 * MINUTE, 60 * MINUTE] as const
const RECORD_AGAIN = { firstMs: 100, longestMs: 5_000 }

export interface Delivery {
  /** Begins nothing more, and waits a little for what is being sent. */
  close(): Promise<void>
}

/** Asks for work at fixed times, not when a row is written: how long a page takes says nothing about what it has queued. */
export function startDelivery(env: DeliveryEnv): Delivery {
  const node = newId()
  const sending = new Set<Promise<void>>()
  let isClosed = false
  let polling: Promise<void> | undefined
  const poll = async (): Promise<void> => {
    if (sending.size >= AT_ONCE) return
    for (const mail of await env.queue.claim(node, AT_ONCE - sending.size)) {
      const done = deliver(mail, node, env)
        .catch(env.onError)
        .finally(() => sending.delete(done))
      sending.add(done)
    }
  }
  const timer = setInterval(() => {
    if (isClosed) return
    polling ??= poll()
      .catch(env.onError)
      .finally(() => {
        polling = undefined
      })
  }, POLL_MS).unref()
  return {
    async close() {
      isClosed = true
      clearInterval(timer)
      await polling
      await Promise.race([Promise.all(sending), sleep(CLOSE_MS, undefined, { ref: false })])
    },
  }
}

async function deliver(mail: QueuedMail, node: string, env: DeliveryEnv): Promise<void> {
  const { queue } = env
  const end = (state: EndState, outcome: Outcome, reason?: string) =>
    endMail(mail, { node, state, outcome, reason }, env)
  if (mail.expiresAt <= env.clock()) return end('failed', 'expired', mail.lastError ?? 'it was too late to send it')
  const prepared = await env.transact((stores, issueLink) => prepare(mail, node, { stores, issueLink }, env))
  switch (prepared.outcome) {
    case 'lost':
      return
    case 'paced':
      return queue.postpone(mail.id, node, env.clock() + PACE_MS)
    case 'dropped':
    case 'throttled':
      return end('dropped', prepared.outcome, prepared.reason)
    case 'ready':
      break
  }
  const renewal = setInterval(() => void queue.renew(mail.id, node).catch(env.onError), RENEW_MS)
  try {
    await env.transport.send(compose(mail, prepared.ready, env.composing))
  } catch (error) {
    if (!(error instanceof NotSent)) throw error
    if (error.isFinal) return await end('failed', 'refused', error.message)
    return await postpone(mail, node, error.message, env)
  } finally {
    clearInterval(renewal)
  }
  return end('sent', 'sent')
}

async function postpone(mail: QueuedMail, node: string, reason: string, env: DeliveryEnv): Promise<void> {
  const nextAt = env.clock() + (RETRIES[mail.attempts] ?? 60 * MINUTE)
  if (nextAt >= mail.expiresAt) return endMail(mail, { node, state: 'failed', outcome: 'expired', reason }, env)
  await untilStored(() => env.queue.postpone(mail.id, node, nextAt, reason), env)
  env.onOutcome(mail, 'postponed', reason)
}

interface Ending {
  readonly node: string
  readonly state: EndState
  readonly outcome: Outcome
  readonly reason: string | undefined
}

async function endMail(mail: QueuedMail, { node, state, outcome, reason }: Ending, env: DeliveryEnv): Promise<void> {
  await untilStored(() => env.queue.end(mail.id, node, state, reason), env)
  env.onOutcome(mail, outcome, reason)
  const details = { mail: mail.id, kind: mail.kind }
  const target = mail.userId
  if (state === 'sent') env.audit.record({ event: 'mail.sent', target, details })
  else if (outcome === 'throttled') env.audit.record({ event: 'mail.refused', target, details: { ...details, reason } })
  else if (state === 'failed') env.audit.record({ event: 'mail.failed', target, details: { ...details, reason } })
}

const MOST_TRIES = 100

/** The server has the mail: an outage of the database must not have it sent again. */
async function untilStored(write: () => Promise<void>, { onError }: Pick<DeliveryEnv, 'onError'>): Promise<void> {
  for (let failures = 1; ; failures++) {
    try {
      return await write()
    } catch (error) {
      if (failures >= MOST_TRIES) throw error
      onError(error)
      await sleep(pauseAfter(failures, RECORD_AGAIN))
    }
  }
}
