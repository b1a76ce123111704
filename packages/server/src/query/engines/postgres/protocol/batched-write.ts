/** Short writes of many requests share a transaction and its commit. When one fails, the others are written without it. */
import type { PoolClient } from 'pg'
import { RecentKeys } from '../../../../lib/recent-keys.ts'
import { UnfitServer } from '../../../../store/database/servers/unfit-server.ts'
import type { WriteReply, WriteRequest } from '../../engine.ts'
import { asRefusal, isOfStatement, isOutdated, isTimeout, isTransient } from '../failure.ts'
import { WriteRun } from '../write.ts'
import { Batcher, type BatchOptions } from './batcher.ts'
import { BEGIN, COMMIT, runCommitting } from './pipeline.ts'

/** Resolves without a reply when the write has to run on its own; nothing has been written then. */
export type WriteBatched = (request: WriteRequest) => Promise<WriteReply | undefined>

/** Attempts to commit a group, each without the write that failed before; then the rest run one by one. */
const GROUP_ATTEMPTS = 3

export function createBatchedWrites(options: Omit<BatchOptions, 'connections'>): WriteBatched {
  /** Statements that do not fit a batch, and owners of slow ones, run on their own for a while, without another attempt. */
  const unbatchable = new RecentKeys()
  /** One write that waits for a lock delays its group; a second one of the same owner does not. */
  const slowOwners = new RecentKeys()
  const batcher = new Batcher<BatchedWrite>({
    ...options,
    // Two groups could wait for each other's row locks.
    connections: 1,
    run: (client, writes) => runBatch(client, writes, (owner) => slowOwners.add(owner)),
    fail: (write, error) => write.reject(asRefusal(error) ?? error),
  })
  return async (request) => {
    const sql = request.steps[0]?.sql ?? ''
    const owner = request.owner ?? ''
    if (unbatchable.has(sql) || slowOwners.has(owner)) return undefined
    const reply = await new Promise<WriteReply | undefined>((resolve, reject) => {
      batcher.add({ request, resolve, reject })
    })
    if (reply === undefined) unbatchable.add(sql)
    return reply
  }
}

interface BatchedWrite {
  readonly request: WriteRequest
  readonly resolve: (reply: WriteReply | undefined) => void
  readonly reject: (error: unknown) => void
}

async function runBatch(
  client: PoolClient,
  writes: readonly BatchedWrite[],
  onSlow: (owner: string) => void,
): Promise<void> {
  const alone: BatchedWrite[] = []
  let group = writes
  for (let attempt = 1; group.length > 1; attempt++) {
    const failure = await writeGroup(client, group)
    if (failure === undefined) {
      group = []
      break
    }
    // Otherwise it is unknown whether the group was committed.
    if (!isOfStatement(failure.error)) throw failure.error
    await client.query('ROLLBACK')
    const failed = group[failure.index]
    if (failed === undefined || attempt === GROUP_ATTEMPTS) break
    group = group.filter((write) => write !== failed)
    // It has delayed the others for the longest allowed time, and its owner's next write might do the same.
    if (isTimeout(failure.error)) {
      const { owner } = failed.request
      if (owner !== undefined) onSlow(owner)
      const isApart = (write: BatchedWrite): boolean => write === failed || write.request.owner === owner
      for (const write of [failed, ...group.filter(isApart)]) write.resolve(undefined)
      group = group.filter((write) => !isApart(write))
    } else alone.push(failed)
  }
  // A write may have failed because of others that were rolled back with it.
  for (const write of [...group, ...alone]) await writeAlone(client, write)
}

/** The index of a failure is that of the write, or the number of writes when the commit failed. */
async function writeGroup(client: PoolClient, group: readonly BatchedWrite[]) {
  const runs = group.map(({ request }) => new WriteRun(request))
  const failure = await runCommitting(client, [BEGIN, ...runs.flatMap((run) => run.statements())], [COMMIT])
  // A failure after the commit cannot undo it; but without a standby that has confirmed it, it may be lost.
  const isUnconfirmed = failure?.error instanceof UnfitServer
  if (failure !== undefined && (isUnconfirmed || failure.index <= group.length + 1))
    return { index: failure.index - 1, error: failure.error }
  for (const [index, write] of group.entries()) resolveWrite(write, runs[index])
  return undefined
}

async function writeAlone(client: PoolClient, write: BatchedWrite): Promise<void> {
  const run = new WriteRun(write.request)
  const failure = await runCommitting(client, run.statements(), [])
  if (failure === undefined) return resolveWrite(write, run)
  const { error } = failure
  if (!isOfStatement(error)) throw error
  if (isTimeout(error) || isTransient(error) || isOutdated(error)) write.resolve(undefined)
  else write.reject(asRefusal(error) ?? error)
}

function resolveWrite({ resolve }: BatchedWrite, run: WriteRun | undefined): void {
  resolve(run && { outcome: run.outcome(), isReplay: false })
}
