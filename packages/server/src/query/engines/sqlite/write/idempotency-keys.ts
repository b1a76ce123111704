/** Stores the idempotency key of a write with its response: an INSERT into `_gh_requests` at the end of its transaction. */
import type { Database } from 'better-sqlite3'
import type { IdempotencyKey, StoredResponse, WriteOutcome, WriteReply } from '../../engine.ts'
import { type ResponseRow, readResponse, writeOutcome } from '../../stored-response.ts'

export function findResponse(database: Database, idempotencyKey: IdempotencyKey): WriteOutcome | undefined {
  const row = database
    .prepare<[string, string], ResponseRow>(
      'SELECT fingerprint, answer FROM main._gh_requests WHERE owner = ? AND key = ?',
    )
    .get(idempotencyKey.owner, idempotencyKey.key)
  return row === undefined ? undefined : readResponse(row, idempotencyKey)
}

export function storeResponse(database: Database, { idempotencyKey, outcome }: StoredResponse): WriteReply {
  const { owner, key, fingerprint, now } = idempotencyKey
  database
    .prepare('INSERT INTO main._gh_requests (owner, key, fingerprint, answer, created) VALUES (?, ?, ?, ?, ?)')
    .run(owner, key, fingerprint, writeOutcome(outcome), now)
  return { outcome, isReplay: false }
}
