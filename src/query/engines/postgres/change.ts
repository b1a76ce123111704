/** Changes of the catalogue, all of them or none, on a connection of the schema's owner. */
import type { Pool, PoolClient } from 'pg'
import type { ChangeRequest, WriteReply } from '../engine.ts'
import { applyChange } from './define.ts'
import { asRefusal } from './failure.ts'
import { borrow } from './pool.ts'
import { remembering } from './write.ts'

const NEVER = new AbortController().signal

export async function change(owner: Pool, request: ChangeRequest): Promise<WriteReply | undefined> {
  const { signal = NEVER } = request
  const { client, giveBack } = await borrow(() => owner.connect(), signal)
  let isBroken = false
  try {
    await client.query('BEGIN')
    return await applyAll(client, request)
  } catch (error) {
    await client.query('ROLLBACK').catch(() => {
      isBroken = true
    })
    throw signal.aborted ? signal.reason : (asRefusal(error) ?? error)
  } finally {
    await giveBack(isBroken)
  }
}

async function applyAll(client: PoolClient, { changes, record }: ChangeRequest): Promise<WriteReply | undefined> {
  const apply = async (): Promise<void> => {
    for (const { change: step, fill } of changes) await applyChange(client, step, fill)
  }
  if (record === undefined) {
    await apply()
    await client.query('COMMIT')
    return undefined
  }
  return remembering(client, record.once, async () => {
    await apply()
    return record.outcome
  })
}
