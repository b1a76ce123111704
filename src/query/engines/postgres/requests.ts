/** The keys of writes that may happen only once, remembered in PostgreSQL. */
import type { PoolClient } from 'pg'
import { writeTimestamp } from '../../iql/time-values.ts'
import type { Once, WriteOutcome } from '../engine.ts'
import { mismatch, readOutcome, writeOutcome } from '../requests.ts'
import { SCHEMA } from './representation.ts'
import type { TrainStatement } from './train.ts'

/** Inserting first makes a second request with the same key wait for the first to end. */
export function claiming(once: Once, onDone: (rowsAffected: number) => void): TrainStatement {
  const { owner, key, fingerprint, now } = once
  return { sql: CLAIM, parameters: [owner, key, fingerprint, timestampText(now)], onDone }
}

const CLAIM = `INSERT INTO ${SCHEMA}._gh_requests (owner, key, fingerprint, answer, created) VALUES ($1, $2, $3, '', $4::timestamp) ON CONFLICT DO NOTHING`

/** Keeps what happened with a key that was claimed. */
export function answering({ owner, key }: Once, outcome: WriteOutcome): TrainStatement {
  return { sql: ANSWER, parameters: [owner, key, writeOutcome(outcome)] }
}

const ANSWER = `UPDATE ${SCHEMA}._gh_requests SET answer = $3 WHERE owner = $1 AND key = $2`

export async function recall(client: PoolClient, once: Once): Promise<WriteOutcome | undefined> {
  const { rows } = await client.query<{ fingerprint: string; answer: string }>(
    `SELECT fingerprint, answer FROM ${SCHEMA}._gh_requests WHERE owner = $1 AND key = $2`,
    [once.owner, once.key],
  )
  const known = rows[0]
  if (known === undefined) return undefined
  if (known.fingerprint !== once.fingerprint) throw mismatch(once)
  return readOutcome(known.answer)
}

export async function forgetBefore(client: Pick<PoolClient, 'query'>, before: bigint): Promise<void> {
  await client.query(`DELETE FROM ${SCHEMA}._gh_requests WHERE created < $1::timestamp`, [timestampText(before)])
}

function timestampText(micros: bigint): string {
  return writeTimestamp(micros).slice(0, -1)
}
