/**
 * Durable inserts with and without replication, to a folder: how many, how late they are, how much memory it takes, how long the log becomes,
 * and how long after its acknowledgement an insert is stored at the other place.
 */
import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { segmentName } from '../packages/server/src/replication/objects/names.ts'
import { Catalogue } from '../packages/server/src/replication/restore/catalogue.ts'
import { FolderTarget } from '../packages/server/src/replication/target/folder.ts'
import { contender, inserting } from './query.ts'
import { type Checkout, HERE } from './support/checkout.ts'
import type { Contender, Figures, Measurement } from './support/compare.ts'
import { type Caller, load } from './support/http-load.ts'
import { percentiles } from './support/percentiles.ts'
import { type GatehousePeer, ROWS, startGatehouse } from './support/query-peers.ts'

/** Apart from those of the other phase. */
const PACED_IDS = 100 * ROWS
const CALLERS = 4
const PROBE_MS = 1_500
const LAG_PROBES = 8
const KEY = Buffer.alloc(32, 1)

export const replication: Measurement = {
  name: 'replication',
  about: 'durable inserts of one row, 64 at once, and one at a time; with replication and without it',
  columns: {
    rate: '1/s',
    cpu: 'ms each',
    p50: 'ms',
    p99: 'ms',
    memory: 'MiB',
    log: 'MiB',
    lag: 'ms',
    'lag most': 'ms',
  },
  targets: { log: { most: 64 }, lag: { most: 1_200 } },
  ratios: [
    { column: 'rate', to: 'without', least: 0.9 },
    { column: 'p99', to: 'without', most: 1.3 },
  ],
  subject: (checkout) => start('with replication', checkout, true),
  async *references() {
    yield start('without', HERE, false)
  },
}

async function start(name: string, checkout: Checkout, isReplicated: boolean): Promise<Contender> {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-bench-'))
  const data = join(folder, 'data')
  const flags = {
    '--data': data,
    ...(isReplicated && {
      '--backup-url': `file://${join(folder, 'copy')}`,
      '--backup-key': KEY.toString('base64'),
    }),
  }
  const peer = await startGatehouse(checkout, {}, '', flags)
  const inserts = contender(peer, inserting)
  let nextId = PACED_IDS
  return {
    name,
    async measure(): Promise<Figures> {
      const figures = await inserts.measure()
      const { p50, p99 } = await probe(peer, () => nextId++)
      const log = statSync(join(data, 'query.db-wal')).size / 2 ** 20
      const memory = peer.use().proportionalMiB
      const lags = isReplicated ? await measureLags(peer, join(folder, 'copy'), () => nextId++) : []
      const lag = percentiles(lags)
      return {
        ...figures,
        p50,
        p99,
        memory,
        log,
        lag: lag.p50,
        'lag most': lags.length === 0 ? Number.NaN : Math.max(...lags),
      }
    },
    async close() {
      await inserts.close?.()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** Inserts at random moments, alone: from each acknowledgement until a segment of a later moment is stored. */
async function measureLags(peer: GatehousePeer, copy: string, id: () => number): Promise<readonly number[]> {
  const catalogue = new Catalogue(new FolderTarget(copy), KEY)
  const [generation = ''] = await catalogue.target.folders()
  const lags: number[] = []
  let last = (await catalogue.segments(generation)).reduce((most, segment) => Math.max(most, segment.last), 0)
  for (let probes = 0; probes < LAG_PROBES; probes++) {
    await sleep(Math.random() * 1_000)
    const requests = [peer.insert(id())]
    await load(peer.port, [{ next: () => requests.pop() }], 60_000)
    const acknowledged = Date.now()
    for (let moment = 0; moment < acknowledged; ) {
      const next = { level: 0, first: last + 1, last: last + 1 } as const
      const stored = await catalogue.target.get(segmentName(generation, next))
      if (stored === undefined) await sleep(2)
      else {
        const { head } = await catalogue.segment(generation, next)
        last++
        if (head.isComplete) moment = head.time
      }
    }
    lags.push(Date.now() - acknowledged)
  }
  return lags
}

/** The median and the slowest of a hundred inserts, of callers that wait for each. */
async function probe(peer: GatehousePeer, id: () => number): Promise<{ readonly p50: number; readonly p99: number }> {
  const times: number[] = []
  const callers = Array.from({ length: CALLERS }, (): Caller => {
    let begun = 0
    return {
      next() {
        begun = performance.now()
        return peer.insert(id())
      },
      onResponse() {
        times.push(performance.now() - begun)
      },
    }
  })
  await load(peer.port, callers, PROBE_MS)
  return percentiles(times)
}
