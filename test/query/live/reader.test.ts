/** Reads of live statements: which are long, and are preempted while others wait; as of when copies were read. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Copies, NO_COPIES } from '../../../packages/server/src/query/catalogue/licences.ts'
import type { LiveReadRequest, LiveReply, LiveSource } from '../../../packages/server/src/query/engines/live-source.ts'
import type { OwnTime } from '../../../packages/server/src/query/engines/slots/expectations.ts'
import { LONG_MS } from '../../../packages/server/src/query/engines/slots/fair-slots.ts'
import { LiveReader } from '../../../packages/server/src/query/live/evaluate/reader.ts'
import { DEFAULT_LIVE_LIMITS } from '../../../packages/server/src/query/live/limits.ts'
import type { LiveTarget } from '../../../packages/server/src/query/live/target.ts'
import { targetWith } from './result-target.ts'

const EMPTY: LiveReply = { positions: new Map(), rows: [], changed: undefined, exceeded: 'no' }

function findTarget(owner: string): LiveTarget {
  const target = targetWith(false, null)
  return { ...target, owner, text: owner, read: () => ({ ...target.read(), owner }) }
}

function createReader(read: LiveSource['read'], copies: Copies = NO_COPIES): LiveReader {
  const source: LiveSource = {
    onCommit: () => () => {},
    changedSince: async () => new Map(),
    compare: () => 0,
    read,
    trim: async () => {},
    logged: [],
  }
  return new LiveReader({
    source,
    copies,
    limits: DEFAULT_LIVE_LIMITS,
    observe: () => {},
    milliseconds: 30_000,
    concurrency: 4,
    catchUpAuditLog: async () => {},
  })
}

test('a read that waits for a process or for the processor is not long, however long that takes', async () => {
  let reads = 0
  const begin = ({ background }: LiveReadRequest, ownTime: OwnTime): void => background?.onStart(ownTime)
  const works: Readonly<Record<string, (request: LiveReadRequest, signal: AbortSignal) => Promise<LiveReply>>> = {
    heavy: async (request, signal) => {
      begin(request, () => performance.now())
      return sleep(60_000, EMPTY, { signal, ref: false })
    },
    light: async (request, signal) => {
      reads++
      await sleep(LONG_MS + 200, undefined, { signal })
      begin(request, () => 10)
      return sleep(LONG_MS + 200, EMPTY, { signal })
    },
  }
  const reader = createReader((request, signal) => works[request.owner]?.(request, signal) ?? Promise.resolve(EMPTY))
  const heavy = reader.readWhole(findTarget('heavy'), {})
  heavy.catch(() => {})
  // The heavy read takes the only slot for long work.
  await sleep(LONG_MS + 200)
  await reader.readWhole(findTarget('light'), {})
  assert.equal(reads, 1)
  reader.close()
  await assert.rejects(heavy)
})

test('the times of copies are those of the moment at which the read began', async () => {
  let time = 1n
  const copies: Copies = {
    ...NO_COPIES,
    get times() {
      const known = time
      return () => known
    },
  }
  const reader = createReader(async ({ background }) => {
    // It has waited for a process, and then takes a while.
    time = 2n
    background?.onStart()
    time = 3n
    return EMPTY
  }, copies)
  const { times } = await reader.readWhole(findTarget('any'), {})
  assert.equal(times('t', 1_000), 2n)
  reader.close()
})
