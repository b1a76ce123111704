/**
 * Stores the idempotency key of a write with its response: an INSERT into `_gh_requests` at the start of its transaction (`claimKey`), an
 * UPDATE at the end.
 */
import { TIMESTAMP } from 'gatehouse-iql'
import type { PoolClient } from 'pg'
import { canFailOver } from '../../../store/database/servers/acknowledged-writes.ts'
import type { IdempotencyKey, WriteOutcome, WriteReply } from '../engine.ts'
import { type ResponseRow, readResponse, writeOutcome } from '../stored-response.ts'
import { COMMIT, mustCommit, mustRun, type PipelineStatement } from './protocol/pipeline.ts'
import { SCHEMA, toPostgres } from './representation.ts'

const REQUESTS = `${SCHEMA}._gh_requests`

/** PostgreSQL does not wait to commit a transaction that has written nothing. */
const DURABLE: PipelineStatement = { sql: "SELECT pg_logical_emit_message(true, 'gatehouse', '')", parameters: [] }

/** Acts once for the key and stores the outcome, or finds the outcome of the first request; ends the transaction. */
export async function runOnce(
  client: PoolClient,
  key: IdempotencyKey,
  act: () => Promise<WriteOutcome>,
): Promise<WriteReply> {
  if (!(await claimKey(client, key))) {
    const first = await findResponse(client, key)
    if (first === undefined) throw new Error('An idempotency key that is claimed but not stored')
    // The first request may have been stopped while it waited for a standby. This commit waits too, and it is later in the log.
    if (canFailOver(client)) await mustCommit(client, [DURABLE])
    else await mustRun(client, [COMMIT])
    return { outcome: first, isReplay: true }
  }
  const outcome = await act()
  await mustCommit(client, [storeResponse(key, outcome)])
  return { outcome, isReplay: false }
}

/** Inserts the key first, so that a second request with the same key waits until the first has ended. */
async function claimKey(client: PoolClient, { owner, key, fingerprint, now }: IdempotencyKey): Promise<boolean> {
  let isClaimed = false
  const sql = `INSERT INTO ${REQUESTS} (owner, key, fingerprint, answer, created) VALUES ($1, $2, $3, '', $4) ON CONFLICT DO NOTHING`
  const onDone = (rowsAffected: number): void => {
    isClaimed = rowsAffected === 1
  }
  await mustRun(client, [{ sql, parameters: [owner, key, fingerprint, toPostgres(now, TIMESTAMP)], onDone }])
  return isClaimed
}

function storeResponse({ owner, key }: IdempotencyKey, outcome: WriteOutcome): PipelineStatement {
  const sql = `UPDATE ${REQUESTS} SET answer = $3 WHERE owner = $1 AND key = $2`
  return { sql, parameters: [owner, key, writeOutcome(outcome)] }
}

export async function findResponse(client: PoolClient, key: IdempotencyKey): Promise<WriteOutcome | undefined> {
  const sql = `SELECT fingerprint, answer FROM ${REQUESTS} WHERE owner = $1 AND key = $2`
  const { rows } = await client.query<ResponseRow>(sql, [key.owner, key.key])
  return rows[0] === undefined ? undefined : readResponse(rows[0], key)
}
