/** Short writes of many requests share a transaction and its commit; where one fails, the others are written without it. */
import type { Pool, PoolClient } from 'pg'
import type { WriteReply, WriteRequest } from '../engine.ts'
import { asRefusal, isOfStatement, isOutdated, isTimeout, isTransient } from './failure.ts'
import { Strays } from './strays.ts'
import { Together } from './together.ts'
import { BEGIN, COMMIT, travel } from './train.ts'
import { Written } from './write.ts'

/** Undefined when the write has to go alone, and nothing has been written. */
export type WriteTogether = (request: WriteRequest) => Promise<WriteReply | undefined>

export interface ShortWriteOptions {
  readonly pool: Pool
  readonly waiting: number
  readonly milliseconds: number
}

/** Journeys on which a group may lose somebody, before each of those left goes alone. */
const ROUNDS = 3

export function createShortWrites({ pool, waiting, milliseconds }: ShortWriteOptions): WriteTogether {
  const strays = new Strays()
  const together = new Together<ShortWrite>({
    pool,
    // Two groups could wait for each other's rows.
    connections: 1,
    waiting,
    milliseconds,
    run,
    fail: (write, error) => write.reject(asRefusal(error) ?? error),
  })
  return async (request) => {
    const sql = request.steps[0]?.sql ?? ''
    if (strays.has(sql)) return undefined
    const reply = await new Promise<WriteReply | undefined>((resolve, reject) => {
      together.add({ request, resolve, reject })
    })
    if (reply === undefined) strays.add(sql)
    return reply
  }
}

interface ShortWrite {
  readonly request: WriteRequest
  readonly resolve: (reply: WriteReply | undefined) => void
  readonly reject: (error: unknown) => void
}

async function run(client: PoolClient, writes: readonly ShortWrite[]): Promise<void> {
  const alone: ShortWrite[] = []
  let group = writes
  for (let round = 1; group.length > 1; round++) {
    const failure = await writeGroup(client, group)
    if (failure === undefined) {
      group = []
      break
    }
    // Else whether it was committed is not known.
    if (!isOfStatement(failure.error)) throw failure.error
    await client.query('ROLLBACK')
    const failed = group[failure.index]
    if (failed === undefined || round === ROUNDS) break
    group = group.filter((write) => write !== failed)
    // It has held up the others for as long as anybody may.
    if (isTimeout(failure.error)) failed.resolve(undefined)
    else alone.push(failed)
  }
  // What failed beside others that were undone with it need not fail now.
  for (const write of [...group, ...alone]) await writeAlone(client, write)
}

/** The index of a failure is that of the write; the number of writes when the commit failed. */
async function writeGroup(client: PoolClient, group: readonly ShortWrite[]) {
  const written = group.map(({ request }) => new Written(request))
  const failure = await travel(client, [BEGIN, ...written.flatMap((each) => each.statements()), COMMIT])
  // Past the commit nothing can undo them.
  if (failure !== undefined && failure.index <= group.length + 1)
    return { index: failure.index - 1, error: failure.error }
  for (const [index, write] of group.entries()) tell(write, written[index])
  return undefined
}

async function writeAlone(client: PoolClient, write: ShortWrite): Promise<void> {
  const written = new Written(write.request)
  const failure = await travel(client, written.statements())
  if (failure === undefined) return tell(write, written)
  const { error } = failure
  if (!isOfStatement(error)) throw error
  if (isTimeout(error) || isTransient(error) || isOutdated(error)) write.resolve(undefined)
  else write.reject(asRefusal(error) ?? error)
}

function tell({ resolve }: ShortWrite, written: Written | undefined): void {
  resolve(written && { outcome: written.outcome(), isRepeated: false })
}
