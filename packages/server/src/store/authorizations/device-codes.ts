/** Device authorizations (RFC 8628): the device polls with its device code, a user decides with the user code; the first decision counts. */

import { randomInt } from 'node:crypto'
import type { Clock } from 'gatehouse-protocol'
import { type Selectable, sql } from 'kysely'
import { addressNetwork } from '../../lib/network.ts'
import { splitWords } from '../../lib/words.ts'
import type { Database } from '../database/database.ts'
import type { Schema } from '../database/schema.ts'
import { digestSecret, newSecret } from '../keys/opaque.ts'
import { boundOpenRows, OPEN_ROWS, type OpenRowLimits } from './open-rows.ts'

export type DeviceState = 'pending' | 'approved' | 'denied' | 'redeemed'

export interface DeviceRequest {
  readonly clientId: string
  /** Requested by the device. */
  readonly scopes: readonly string[]
  /** What the tokens are for, as named with `resource`; undefined: everything that the scopes are for. */
  readonly audiences: readonly string[] | undefined
  readonly state: DeviceState
  readonly approval: DeviceApproval | undefined
  readonly createdAt: number
  readonly expiresAt: number
}

export interface DeviceApproval {
  readonly userId: string
  readonly sessionId: string | undefined
  /** Allowed by the user. */
  readonly scopes: readonly string[]
  readonly authTime: number
  readonly approvedAt: number
  readonly amr: readonly string[]
  readonly acr?: string | undefined
  /** No token of the grant lives longer. */
  readonly boundedUntil?: number | undefined
}

export interface IssuedDeviceCode {
  readonly deviceCode: string
  /** Eight letters, written in two groups of four. */
  readonly userCode: string
}

export type Poll = { readonly outcome: 'unknown' } | ({ readonly outcome: 'known' | 'too-fast' } & DeviceRequest)

export type DeviceCodes = ReturnType<typeof createDeviceCodes>

/** RFC 8628 §6.1: twenty consonants, so that no words and no ambiguous letters occur; 34 bits. */
const LETTERS = 'BCDFGHJKLMNPQRSTVWXZ'
const SLOW_DOWN_SECONDS = 5

export function createDeviceCodes(database: Pick<Database, 'db' | 'engine'>, clock: Clock, limits = OPEN_ROWS) {
  return {
    ...issueCodes(database, clock, limits),
    ...decideRequests(database, clock),
    ...redeemCodes(database, clock),
  }
}

function issueCodes({ db, engine }: Pick<Database, 'db' | 'engine'>, clock: Clock, limits: OpenRowLimits) {
  // The device of a code that was approved has not fetched its tokens yet.
  const open = boundOpenRows({ db, engine }, { table: 'device_codes', limits, disposable: sql`state <> 'approved'` })
  return {
    async issue(request: {
      clientId: string
      scopes: readonly string[]
      audiences?: readonly string[] | undefined
      lifetimeMs: number
      intervalSeconds: number
      address: string
    }): Promise<IssuedDeviceCode> {
      const deviceCode = newSecret()
      const digest = digestSecret(deviceCode)
      const network = addressNetwork(request.address)
      for (;;) {
        const userCode = Array.from({ length: 8 }, () => LETTERS[randomInt(LETTERS.length)]).join('')
        const inserted = await db
          .insertInto('device_codes')
          .values({
            digest,
            user_code: userCode,
            client_id: request.clientId,
            scopes: request.scopes.join(' '),
            audiences: request.audiences?.join(' ') ?? '',
            state: 'pending',
            details: '',
            poll_interval: request.intervalSeconds,
            polled_at: null,
            network,
            created_at: clock(),
            expires_at: clock() + request.lifetimeMs,
          })
          .onConflict((conflict) => conflict.column('user_code').doNothing())
          .returning('digest')
          .executeTakeFirst()
        if (inserted === undefined) continue
        await open.added({ digest, network })
        return { deviceCode, userCode: `${userCode.slice(0, 4)}-${userCode.slice(4)}` }
      }
    },
  }
}

/** By the person who enters the user code. */
function decideRequests({ db }: Pick<Database, 'db'>, clock: Clock) {
  return {
    /** An undecided request. Case, dashes and spaces in the code do not matter. */
    async findPending(userCode: string): Promise<DeviceRequest | undefined> {
      const row = await db
        .selectFrom('device_codes')
        .selectAll()
        .where('user_code', '=', normalUserCode(userCode))
        .where('state', '=', 'pending')
        .where('expires_at', '>', clock())
        .executeTakeFirst()
      return row === undefined ? undefined : toRequest(row)
    },

    /** False if it was decided before, or has expired. */
    async decide(userCode: string, approval: Omit<DeviceApproval, 'approvedAt'> | 'denied'): Promise<boolean> {
      const approved = (given: object) => JSON.stringify({ ...given, approvedAt: clock() })
      const decided = await db
        .updateTable('device_codes')
        .set(approval === 'denied' ? { state: 'denied' } : { state: 'approved', details: approved(approval) })
        .where('user_code', '=', normalUserCode(userCode))
        .where('state', '=', 'pending')
        .where('expires_at', '>', clock())
        .returning('digest')
        .executeTakeFirst()
      return decided !== undefined
    },
  }
}

/** By the device. */
function redeemCodes({ db }: Pick<Database, 'db'>, clock: Clock) {
  return {
    /** RFC 8628 §3.5: polling too fast increases the interval by five seconds. */
    async poll(deviceCode: string): Promise<Poll> {
      const now = clock()
      const digest = digestSecret(deviceCode)
      const row = await db
        .updateTable('device_codes')
        .set({ polled_at: now })
        .where('digest', '=', digest)
        .where((eb) =>
          eb.or([
            eb('polled_at', 'is', null),
            eb(eb('polled_at', '+', eb('poll_interval', '*', sql<number>`1000`)), '<=', now),
          ]),
        )
        .returningAll()
        .executeTakeFirst()
      if (row !== undefined) return { ...toRequest(row), outcome: 'known' }
      const tooFast = await db
        .updateTable('device_codes')
        .set((eb) => ({ polled_at: now, poll_interval: eb('poll_interval', '+', SLOW_DOWN_SECONDS) }))
        .where('digest', '=', digest)
        .returningAll()
        .executeTakeFirst()
      return tooFast === undefined ? { outcome: 'unknown' } : { ...toRequest(tooFast), outcome: 'too-fast' }
    },

    /** Returns the approval to the first caller only. */
    async redeem(deviceCode: string): Promise<DeviceApproval | undefined> {
      const row = await db
        .updateTable('device_codes')
        .set({ state: 'redeemed' })
        .where('digest', '=', digestSecret(deviceCode))
        .where('state', '=', 'approved')
        .where('expires_at', '>', clock())
        .returningAll()
        .executeTakeFirst()
      return row === undefined ? undefined : toRequest(row).approval
    },
  }
}

function normalUserCode(text: string): string {
  return text.replace(/[\s\-\u2010-\u2015]/g, '').toUpperCase()
}

function toRequest(row: Selectable<Schema['device_codes']>): DeviceRequest {
  const approval: DeviceApproval | undefined = row.details === '' ? undefined : JSON.parse(row.details)
  return {
    clientId: row.client_id,
    scopes: splitWords(row.scopes),
    audiences: row.audiences === '' ? undefined : splitWords(row.audiences),
    state: toState(row.state),
    approval,
    createdAt: row.created_at,
    expiresAt: row.expires_at,
  }
}

const STATES: readonly DeviceState[] = ['pending', 'approved', 'denied', 'redeemed']

function toState(text: string): DeviceState {
  const state = STATES.find((known) => known === text)
  if (state === undefined) throw new Error(`A device code has the unknown state ${text}`)
  return state
}
